// `opbridge._core.Kernel`: one function of a loaded library.
#pragma once

#include <opbridge/abi.h>

#include "python.h"

namespace opbridge {

struct Kernel {
  PyObject_HEAD ob_kernel function;
  const ob_signature* signature;  // null for a bare aot function
  PyObject* path;
  PyObject* symbol;
};

// Null where `object` is no Kernel.
Kernel* as_kernel(PyObject* object);

// load_kernel(path, symbol, shown=path) of the module.
PyObject* load_kernel(PyObject* module, PyObject* const* args, Py_ssize_t count);

void add_kernel_type(PyObject* module);

}  // namespace opbridge

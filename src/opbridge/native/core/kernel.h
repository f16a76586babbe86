// `opbridge._core.Kernel`: one function of a loaded library.
#ifndef OPBRIDGE_NATIVE_CORE_KERNEL_H
#define OPBRIDGE_NATIVE_CORE_KERNEL_H

#include <opbridge/abi.h>

#include "../invoke.h"
#include "python.h"

namespace opbridge {

// How to call a kernel: by `aot` if it is set, otherwise by `function`.
struct KernelEntry {
  ob_kernel function;
  const ob_signature* signature;  // null unless the kernel is written on kernel.h
  AotKernel* aot;                 // null if the function has the C call of abi.h and needs no conversion
};

// The Python object of a function in an open library.  Callers keep it alive, and it keeps the library open.
struct Kernel {
  PyObject_HEAD KernelEntry entry;
  PyObject* path;
  PyObject* symbol;
};

// Returns null if `object` is not a Kernel.
Kernel* as_kernel(PyObject* object);

// Binds a Kernel to an operator, which must stay at its address; raises KernelError if they do not fit.
Binding bound_kernel(PyObject* kernel, const OpPlan& op, const std::string& full_name);

PyObject* new_kernel(const KernelEntry& entry, PyObject* path, PyObject* symbol);

// Encodes a path for system calls.
std::string encoded_path(PyObject* path);

// Asks a function of opbridge.build.sources why a library does not load or lacks a symbol.
std::string advice(const char* module, const char* function, PyObject* path, const std::string& subject);

// load_kernel(path, symbol, shown=path) of the module.
PyObject* load_kernel(PyObject* module, PyObject* const* args, Py_ssize_t count);

// name_kernel(kernel, operator, advice) of the module.
PyObject* set_kernel_name(PyObject* module, PyObject* const* args, Py_ssize_t count);

void add_kernel_type(PyObject* module);

}  // namespace opbridge

#endif

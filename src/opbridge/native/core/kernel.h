// `opbridge._core.Kernel`: one function of a loaded library.
#ifndef OPBRIDGE_NATIVE_CORE_KERNEL_H
#define OPBRIDGE_NATIVE_CORE_KERNEL_H

#include <opbridge/abi.h>

#include "../invoke.h"
#include "python.h"

namespace opbridge {

// How a kernel is called: by `aot` where there is one, else by `function`.
struct KernelEntry {
  ob_kernel function;
  const ob_signature* signature;  // null unless the kernel is written on kernel.h
  AotKernel* aot;                 // null where the function is called as abi.h has it, by nobody in between
};

// A function of an open library, to Python; whoever runs it keeps this alive, and it keeps the library open.
struct Kernel {
  PyObject_HEAD KernelEntry entry;
  PyObject* path;
  PyObject* symbol;
};

// Null where `object` is no Kernel.
Kernel* as_kernel(PyObject* object);

// A Kernel as this operator uses it, which must stay where it is; raises KernelError where the two do not fit.
Binding bound_kernel(PyObject* kernel, const OpPlan& op, const std::string& full_name);

PyObject* new_kernel(const KernelEntry& entry, PyObject* path, PyObject* symbol);

// A path as the system's calls take it.
std::string encoded_path(PyObject* path);

// What a function of opbridge.build.sources can tell about a library that does not load, or lacks a symbol.
std::string advice(const char* module, const char* function, PyObject* path, const std::string& subject);

// load_kernel(path, symbol, shown=path) of the module.
PyObject* load_kernel(PyObject* module, PyObject* const* args, Py_ssize_t count);

// name_kernel(kernel, operator, advice) of the module.
PyObject* set_kernel_name(PyObject* module, PyObject* const* args, Py_ssize_t count);

void add_kernel_type(PyObject* module);

}  // namespace opbridge

#endif

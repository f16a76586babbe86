// Opens functions of tvm-ffi's libraries as kernels.
#ifndef OPBRIDGE_NATIVE_CORE_TVM_FFI_KERNEL_H
#define OPBRIDGE_NATIVE_CORE_TVM_FFI_KERNEL_H

#include "python.h"

namespace opbridge {

// load_tvm_ffi_kernel(path, function, shown, runtime) of the module.
PyObject* load_tvm_ffi_kernel(PyObject* module, PyObject* const* args, Py_ssize_t count);

}  // namespace opbridge

#endif

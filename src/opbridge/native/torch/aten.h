// What Python finds in the adapter for operators that PyTorch has itself.
#ifndef OPBRIDGE_NATIVE_TORCH_ATEN_H
#define OPBRIDGE_NATIVE_TORCH_ATEN_H

#include <Python.h>

namespace opbridge::torch_adapter {

PyMethodDef* aten_functions();

}  // namespace opbridge::torch_adapter

#endif

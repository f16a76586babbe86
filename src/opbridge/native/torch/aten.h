// What Python finds in the adapter for operators that PyTorch has itself.
#pragma once

#include <Python.h>

namespace opbridge::torch_adapter {

PyMethodDef* aten_functions();

}  // namespace opbridge::torch_adapter

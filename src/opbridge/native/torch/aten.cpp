#include "aten.h"

#include "aten_function.h"
#include "aten_target.h"

namespace opbridge::torch_adapter {

PyMethodDef* aten_functions() {
  static PyMethodDef functions[] = {
      {"numpy_function", numpy_function, METH_VARARGS, "Overloads of an operator as one function of NumPy arrays."},
      {"operator_target", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(operator_target)),
       METH_FASTCALL | METH_KEYWORDS, "An operator as MindSpore calls it, attributes fixed."},
      {"vjp_target", vjp_target, METH_VARARGS, "The gradient of such an operator, or of such a gradient."},
      {nullptr, nullptr, 0, nullptr}};
  return functions;
}

}  // namespace opbridge::torch_adapter

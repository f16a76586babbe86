// Whether a kernel takes tensors of certain element types, for hosts that know the types before they call.
#ifndef OPBRIDGE_NATIVE_ELEMENT_TYPES_H
#define OPBRIDGE_NATIVE_ELEMENT_TYPES_H

#include "invoke.h"

namespace opbridge {

// What a kernel that describes itself has against the element types of its inputs; empty where it has nothing.
// `dtype_of(i)` is the type of the i-th tensor of the call, negative where that is absent.
template <class DTypeOf>
std::string refused_types(const OpPlan& op, const Binding& kernel, const ob_arg* args, DTypeOf dtype_of) {
  if (!kernel.signature) return {};
  const ob_signature& signature = *kernel.signature;
  std::string first_name;  // of the tensor that says what the kernel's T is
  int32_t t = -1;
  size_t arg = 0;
  for (int32_t p = 0; p < signature.n_params; ++p) {
    const ob_param& param = signature.params[p];
    if (param.role != OB_PARAM_IN && param.role != OB_PARAM_INOUT) continue;
    while (!op.args[arg].is_tensor()) ++arg;
    const ob_arg& use = args[arg];
    for (int64_t i = 0; i < use.count; ++i) {
      const int32_t dtype = dtype_of(use.v.first + i);
      if (dtype < 0) continue;
      const std::string item = use.kind == OB_ARG_TENSORS ? "[" + std::to_string(i) + "]" : "";
      const std::string name = "'" + op.args[arg].name + item + "'";
      const std::string given = "argument " + name + " is " + dtype_name(dtype);
      if (param.type == OB_DTYPE_TEMPLATE) {
        if (t < 0) t = dtype, first_name = name;
        if (dtype != t)
          return given + " but " + first_name + " is " + dtype_name(t) + "; the kernel takes one type for both";
      } else if (param.type != OB_DTYPE_ANY && param.type != dtype) {
        return given + ", but the kernel takes " + dtype_name(param.type) + " there";
      }
    }
    ++arg;
  }
  if (t < 0 || signature.n_dtypes == 0) return {};
  std::string known;
  for (int32_t k = 0; k < signature.n_dtypes; ++k) {
    if (signature.dtypes[k] == t) return {};
    known += (k ? ", " : "") + std::string(dtype_name(signature.dtypes[k]));
  }
  return "argument " + first_name + " is " + dtype_name(t) + "; the kernel takes " + known +
         ": convert it, or add the type to OB_KERNEL at " + (signature.file ? signature.file : "?") + ":" +
         std::to_string(signature.line);
}

}  // namespace opbridge

#endif

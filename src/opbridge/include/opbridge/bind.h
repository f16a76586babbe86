// Maps the C call to the kernel's C++ parameters: finds the slot of each parameter, and checks that it fits.
//
// This code reads the kernel's tables, so that one copy serves all kernels: compiling it for each kernel would take
// longer than a small kernel itself.
#ifndef OPBRIDGE_BIND_H
#define OPBRIDGE_BIND_H

#include <opbridge/failures.h>

namespace ob {
namespace [[gnu::visibility("hidden")]] detail {

#if !defined(OB_PARTS_LINKED)

inline bool accepts(const ob_param& param, int32_t kind) {
  if (kind == OB_ARG_NONE) return param.flags & OB_PARAM_OPTIONAL;
  if (kind == param.type) return true;
  if (param.type == OB_ARG_NONE) return kind == OB_ARG_BOOL || kind == OB_ARG_INT || kind == OB_ARG_FLOAT;
  return param.type == OB_ARG_FLOAT && kind == OB_ARG_INT;
}

// Finds the place of every parameter.
inline void locate(const Call& call, Slot* slots) {
  const Kernel& kernel = call.kernel;
  const int32_t* input = kernel.order;
  const int32_t* output = input + kernel.n_inputs;
  const int32_t* attribute = output + kernel.n_outputs;
  const int32_t* const outputs = output;
  const int32_t* const attributes = attribute;
  const int32_t* const end = attribute + kernel.n_attributes;
  for (const ob_arg *arg = call.args, *last = arg + call.n_args; arg != last; ++arg) {
    if (is_tensor(*arg)) {
      if (input == outputs) fail_count(call);
      const int32_t p = *input++;
      const bool is_list = arg->kind == OB_ARG_TENSORS;
      slots[p].first = static_cast<int32_t>(arg->v.first);
      slots[p].count = is_list ? arg->count : 1;
      if (is_list != ((kernel.params[p].flags & OB_PARAM_LIST) != 0)) fail_list(p, is_list);
    } else {
      if (attribute == end) fail_count(call);
      const int32_t p = *attribute++;
      slots[p].arg = arg;
      slots[p].count = arg->kind != OB_ARG_NONE;
      if (!accepts(kernel.params[p], arg->kind)) fail_attribute(call, p, arg->kind);
    }
  }
  int32_t next = call.n_inputs;
  for (; output != attributes; ++output) {
    Slot& slot = slots[*output];
    slot.first = next;
    slot.count = 1;
    // A list takes the remaining outputs.
    if (kernel.params[*output].flags & OB_PARAM_LIST) {
      slot.count += call.nparam - next - static_cast<int32_t>(attributes - output);
      if (slot.count < 0) fail_count(call);
    }
    next += slot.count;
  }
  if (input != outputs || attribute != end || next != call.nparam) fail_count(call);
}

// Fills the slots and returns the instantiation to call.
inline int32_t bind(const Call& call, Slot* slots) {
  const Kernel& kernel = call.kernel;
  locate(call, slots);
  int32_t t_param = -1, t_index = -1;  // the tensor that determines T
  for (int32_t k = 0; k < kernel.n_inputs + kernel.n_outputs; ++k) {
    const int32_t p = kernel.order[k];
    const ob_param& param = kernel.params[p];
    Slot& slot = slots[p];
    slot.numel = call.numel(slot.first);
    for (int32_t i = slot.first, end = slot.first + slot.count; i < end; ++i) {
      if (call.missing(i)) {
        if (!(param.flags & OB_PARAM_OPTIONAL)) fail_missing(call, p, i);
        if (!(param.flags & OB_PARAM_LIST)) slot.count = 0;
        continue;
      }
      if (param.type == OB_DTYPE_TEMPLATE) {
        if (t_index < 0) t_param = p, t_index = i;
        if (call.dtypes[i] != call.dtypes[t_index]) fail_mixed(call, p, i, t_param, t_index);
      } else if (param.type != OB_DTYPE_ANY && param.type != call.dtypes[i]) {
        fail_dtype(call, p, i, param.type);
      }
      if (call.strides(i) != nullptr && !(param.flags & OB_PARAM_STRIDED)) check_contiguous(call, p, i);
    }
  }
  if (kernel.n_dtypes == 0) return 0;
  const int32_t code = t_index < 0 ? -1 : call.dtypes[t_index];
  int32_t instance = 0;
  while (instance < kernel.n_dtypes && kernel.dtypes[instance] != code) ++instance;
  if (instance == kernel.n_dtypes) fail_instance(call, code);
  return instance;
}

// `types` has the dtype of each parameter.
inline void check_types(const Call& call, const Slot* slots, const int32_t* types) {
  for (int32_t k = 0; k < call.kernel.n_inputs + call.kernel.n_outputs; ++k) {
    const int32_t p = call.kernel.order[k];
    for (int32_t i = slots[p].first; i < slots[p].first + slots[p].count; ++i) {
      if (types[p] != OB_DTYPE_ANY && types[p] != call.dtypes[i] && !call.missing(i)) fail_dtype(call, p, i, types[p]);
    }
  }
}

#endif

}  // namespace detail
}  // namespace ob

#endif

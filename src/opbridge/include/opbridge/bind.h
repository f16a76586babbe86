// From the C call to the kernel's C++ parameters: which slot belongs to which parameter, and whether it fits.
//
// What a small kernel costs to compile is mostly what is written here, so that it comes once a kernel, never once a
// dtype, and failures come once a file, from tables.
#ifndef OPBRIDGE_BIND_H
#define OPBRIDGE_BIND_H

#include <opbridge/call.h>
#include <opbridge/tensor.h>

namespace ob {
namespace [[gnu::visibility("hidden")]] detail {

struct Call;

// Where one C++ parameter finds its value.
struct Slot {
  const ob_arg* arg;  // attributes
  int32_t first;      // tensors: the index in params
  int32_t count;      // how many; 0 where the caller left it out
  int64_t numel;      // of the first
};

using Invoker = int (*)(const Call& call, const Slot* slots);

// What the compiler knows of a kernel.
struct Kernel {
  const ob_param* params;  // in C++ order
  const int32_t* order;    // their indices sorted: inputs, outputs, attributes
  int32_t n_inputs;
  int32_t n_outputs;
  int32_t n_attributes;
  const int32_t* dtypes;  // the types T; none for a plain function
  int32_t n_dtypes;
  const Invoker* invokers;  // for each T
  // Looks at types that follow from T without being T, once T is known; null where there are none.
  void (*check_dependent)(const Call& call, const Slot* slots, int32_t instance);
};

// The arguments of the C call.
struct Call {
  const Kernel& kernel;
  const char* name;
  const ob_signature& signature;
  const ob_call* host;  // null under a foreign host
  int32_t nparam;
  void** params;
  const int* ndims;
  int64_t** shapes;
  void* stream;
  const ob_arg* args;
  int32_t n_args;
  int32_t n_inputs;
  const int32_t* dtypes;

  bool missing(int32_t i) const { return params[i] == nullptr && ndims[i] == 0; }

  const int64_t* strides(int32_t i) const {
    return host != nullptr && host->strides != nullptr ? host->strides[i] : nullptr;
  }

  int64_t numel(int32_t i) const {
    int64_t product = 1;
    for (int32_t dim = 0; dim < ndims[i]; ++dim) {
      product *= shapes[i][dim];
      __asm__("" : "+r"(product));  // or -O3 makes vector code for a loop that runs once or twice
    }
    return product;
  }

  TensorView view(const Slot& slot, const int64_t* given_strides) const {
    const int32_t i = slot.first;
    return TensorView(params[i], shapes[i], given_strides, slot.numel, ndims[i], DType{dtypes[i]});
  }

  // The strides, even where the caller has none to tell.
  [[gnu::noinline]] const int64_t* explicit_strides(int32_t i) const {
    if (const int64_t* given = strides(i)) return given;
    auto* packed = table<int64_t>(ndims[i]);
    int64_t stride = 1;
    for (int32_t dim = ndims[i] - 1; dim >= 0; --dim) {
      packed[dim] = stride;
      stride *= shapes[i][dim];
    }
    return packed;
  }
};

inline bool is_tensor(const ob_arg& arg) { return arg.kind == OB_ARG_TENSOR || arg.kind == OB_ARG_TENSORS; }

// Failures.  A C++ function knows the order of its parameters; their names are the schema's, which opbridge passes.

// Long enough for every form but a name of the user's, which is cut.
struct Name {
  char text[64];
};

// `'y'`, or `input 2 (params[1])` where the caller knows no names.
OB_COLD inline Name tensor_name(const Call& call, int32_t p, int32_t i) {
  Name name;
  const char* const* names = call.host != nullptr ? call.host->arg_names : nullptr;
  for (int32_t k = 0; names != nullptr && k < call.n_args; ++k) {
    const ob_arg& arg = call.args[k];
    if (!is_tensor(arg) || i < arg.v.first || i >= arg.v.first + arg.count) continue;
    const int item = static_cast<int>(i - arg.v.first);
    if (arg.kind == OB_ARG_TENSOR) snprintf(name.text, sizeof name.text, "'%s'", names[k]);
    if (arg.kind == OB_ARG_TENSORS) snprintf(name.text, sizeof name.text, "'%s[%d]'", names[k], item);
    return name;
  }
  const bool is_output = call.kernel.params[p].role == OB_PARAM_OUT;
  const int32_t* order = call.kernel.order + (is_output ? call.kernel.n_inputs : 0);
  int32_t ordinal = 1;
  while (order[ordinal - 1] != p) ++ordinal;
  snprintf(name.text, sizeof name.text, "%s %d (params[%d])", is_output ? "output" : "input", ordinal, i);
  return name;
}

[[noreturn]] OB_COLD inline void fail_count(const Call& call) {
  int32_t tensors = 0;
  for (int32_t i = 0; i < call.n_args; ++i) tensors += is_tensor(call.args[i]);
  fail_as(
      "the kernel takes %d inputs (ob::In, ob::InOut), %d outputs (ob::Out) and %d attributes, but the call brings "
      "%d, "
      "%d and %d; make the C++ function and the operator's schema agree",
      call.kernel.n_inputs, call.kernel.n_outputs, call.kernel.n_attributes, tensors, call.nparam - call.n_inputs,
      call.n_args - tensors);
}

[[noreturn]] OB_COLD inline void fail_attribute(const Call& call, int32_t p, int32_t kind) {
  static constexpr const char* names[] = {
      "None",     "a tensor",       "tensors",          "a bool",          "an int", "a float",
      "a string", "a list of ints", "a list of floats", "a list of bools", "a dtype"};
  const int32_t type = call.kernel.params[p].type;
  const char* expected = type == OB_ARG_NONE ? "a number" : names[type];
  const char* given =
      kind >= 0 && kind <= OB_ARG_DTYPE ? names[kind] : "of a kind this kernel's opbridge does not know";
  const char* hint = "";
  if (call.host == nullptr) {
    given = "missing";
    hint = ": the caller is not opbridge and brings tensors only; call through opbridge, or take an ob::Optional";
  } else if (kind == OB_ARG_NONE) {
    hint = "; take an ob::Optional to allow None";
  }
  fail_as("C++ parameter %d is %s, but the kernel takes %s%s", p + 1, given, expected, hint);
}

[[noreturn]] OB_COLD inline void fail_list(int32_t p, bool is_list) {
  fail_as(
      "C++ parameter %d is %s", p + 1,
      is_list ? "a list of tensors; take it as ob::List<ob::In<T>>" : "one tensor, but the kernel takes an ob::List");
}

[[noreturn]] OB_COLD inline void fail_missing(const Call& call, int32_t p, int32_t i) {
  fail_as("%s is None; take it as ob::Optional<ob::In<T>> to allow that", tensor_name(call, p, i).text);
}

[[noreturn]] OB_COLD inline void fail_dtype(const Call& call, int32_t p, int32_t i, int32_t expected) {
  fail_as("%s is %s, but the kernel takes %s there", tensor_name(call, p, i).text, DType{call.dtypes[i]}.name(),
          DType{expected}.name());
}

[[noreturn]] OB_COLD inline void fail_mixed(const Call& call, int32_t p, int32_t i, int32_t first_p, int32_t first_i) {
  fail_as("%s is %s but %s is %s; the kernel takes one type for both", tensor_name(call, p, i).text,
          DType{call.dtypes[i]}.name(), tensor_name(call, first_p, first_i).text, DType{call.dtypes[first_i]}.name());
}

[[noreturn]] OB_COLD inline void fail_instance(const Call& call, int32_t code) {
  static constexpr const char* cpp_names[] = {"bool",
                                              "uint8_t",
                                              "int8_t",
                                              "uint16_t",
                                              "int16_t",
                                              "uint32_t",
                                              "int32_t",
                                              "uint64_t",
                                              "int64_t",
                                              "ob::half",
                                              "ob::bfloat16",
                                              "float",
                                              "double",
                                              "std::complex<float>",
                                              "std::complex<double>"};
  if (code < 0 || code >= OB_DTYPE_COUNT) fail_as("none of the tensors that tell the kernel its type is there");
  Error error;
  error.print("no %s kernel among ", DType{code}.name());
  for (int32_t k = 0; k < call.kernel.n_dtypes; ++k) {
    error.print("%s%s", k == 0 ? "" : ", ", DType{call.kernel.dtypes[k]}.name());
  }
  error.print(" (add %s to OB_KERNEL at %s:%d)", cpp_names[code], call.signature.file, call.signature.line);
  throw error;
}

OB_COLD inline void check_contiguous(const Call& call, int32_t p, int32_t i) {
  if (call.view(Slot{nullptr, i, 1, call.numel(i)}, call.strides(i)).is_contiguous()) return;
  fail_as("%s is not contiguous; copy it before the call, or take it as ob::In<T, ob::strided>",
          tensor_name(call, p, i).text);
}

inline bool accepts(const ob_param& param, int32_t kind) {
  if (kind == OB_ARG_NONE) return param.flags & OB_PARAM_OPTIONAL;
  if (kind == param.type) return true;
  if (param.type == OB_ARG_NONE) return kind == OB_ARG_BOOL || kind == OB_ARG_INT || kind == OB_ARG_FLOAT;
  return param.type == OB_ARG_FLOAT && kind == OB_ARG_INT;
}

// Finds the place of every parameter.
template <const Kernel& kernel>
void locate(const Call& call, Slot* slots) {
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
    // A list takes what the other outputs leave.
    if (kernel.params[*output].flags & OB_PARAM_LIST) {
      slot.count += call.nparam - next - static_cast<int32_t>(attributes - output);
      if (slot.count < 0) fail_count(call);
    }
    next += slot.count;
  }
  if (input != outputs || attribute != end || next != call.nparam) fail_count(call);
}

// Fills the slots and returns the instantiation to call.
template <const Kernel& kernel>
int32_t bind(const Call& call, Slot* slots) {
  locate<kernel>(call, slots);
  int32_t t_param = -1, t_index = -1;  // the tensor that says what T is
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

// `types` has for each parameter the dtype it takes.
inline void check_types(const Call& call, const Slot* slots, const int32_t* types) {
  for (int32_t k = 0; k < call.kernel.n_inputs + call.kernel.n_outputs; ++k) {
    const int32_t p = call.kernel.order[k];
    for (int32_t i = slots[p].first; i < slots[p].first + slots[p].count; ++i) {
      if (types[p] != OB_DTYPE_ANY && types[p] != call.dtypes[i] && !call.missing(i)) fail_dtype(call, p, i, types[p]);
    }
  }
}

}  // namespace detail
}  // namespace ob
#endif

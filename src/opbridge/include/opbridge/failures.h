// Messages for a call that does not fit its kernel: `p` is a C++ parameter, `i` an index in params.
#ifndef OPBRIDGE_FAILURES_H
#define OPBRIDGE_FAILURES_H

#include <opbridge/arguments.h>

namespace ob {
namespace [[gnu::visibility("hidden")]] detail {

#if defined(OB_PARTS_LINKED)

[[noreturn]] OB_COLD void fail_count(const Call& call);
[[noreturn]] OB_COLD void fail_attribute(const Call& call, int32_t p, int32_t kind);
[[noreturn]] OB_COLD void fail_list(int32_t p, bool is_list);
[[noreturn]] OB_COLD void fail_missing(const Call& call, int32_t p, int32_t i);
[[noreturn]] OB_COLD void fail_dtype(const Call& call, int32_t p, int32_t i, int32_t expected);
[[noreturn]] OB_COLD void fail_mixed(const Call& call, int32_t p, int32_t i, int32_t first_p, int32_t first_i);
[[noreturn]] OB_COLD void fail_instance(const Call& call, int32_t code);
OB_COLD void check_contiguous(const Call& call, int32_t p, int32_t i);

#else

// A C++ function knows the order of its parameters; their names are the schema's, which opbridge passes.

// Long enough for every form; a user's name is cut.
struct Name {
  char text[64];
};

// `'y'`, or `input 2 (params[1])` if the caller has no names.
OB_PART Name tensor_name(const Call& call, int32_t p, int32_t i) {
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

[[noreturn]] OB_PART void fail_count(const Call& call) {
  int32_t tensors = 0;
  for (int32_t i = 0; i < call.n_args; ++i) tensors += is_tensor(call.args[i]);
  fail_as(
      "the kernel takes %d inputs (ob::In, ob::InOut), %d outputs (ob::Out) and %d attributes, but the call has "
      "%d, "
      "%d and %d; make the C++ function and the operator's schema agree",
      call.kernel.n_inputs, call.kernel.n_outputs, call.kernel.n_attributes, tensors, call.nparam - call.n_inputs,
      call.n_args - tensors);
}

[[noreturn]] OB_PART void fail_attribute(const Call& call, int32_t p, int32_t kind) {
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
    hint = ": the caller is not opbridge and passes tensors only; call through opbridge, or take an ob::Optional";
  } else if (kind == OB_ARG_NONE) {
    hint = "; take an ob::Optional to allow None";
  }
  fail_as("C++ parameter %d is %s, but the kernel takes %s%s", p + 1, given, expected, hint);
}

[[noreturn]] OB_PART void fail_list(int32_t p, bool is_list) {
  fail_as(
      "C++ parameter %d is %s", p + 1,
      is_list ? "a list of tensors; take it as ob::List<ob::In<T>>" : "one tensor, but the kernel takes an ob::List");
}

[[noreturn]] OB_PART void fail_missing(const Call& call, int32_t p, int32_t i) {
  fail_as("%s is None; take it as ob::Optional<ob::In<T>> to allow that", tensor_name(call, p, i).text);
}

[[noreturn]] OB_PART void fail_dtype(const Call& call, int32_t p, int32_t i, int32_t expected) {
  fail_as("%s is %s, but the kernel takes %s there", tensor_name(call, p, i).text, DType{call.dtypes[i]}.name(),
          DType{expected}.name());
}

[[noreturn]] OB_PART void fail_mixed(const Call& call, int32_t p, int32_t i, int32_t first_p, int32_t first_i) {
  fail_as("%s is %s but %s is %s; the kernel takes one type for both", tensor_name(call, p, i).text,
          DType{call.dtypes[i]}.name(), tensor_name(call, first_p, first_i).text, DType{call.dtypes[first_i]}.name());
}

[[noreturn]] OB_PART void fail_instance(const Call& call, int32_t code) {
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

OB_PART void check_contiguous(const Call& call, int32_t p, int32_t i) {
  if (call.view(Slot{nullptr, i, 1, call.numel(i)}, call.strides(i)).is_contiguous()) return;
  fail_as("%s is not contiguous; copy it before the call, or take it as ob::In<T, ob::strided>",
          tensor_name(call, p, i).text);
}

#endif

}  // namespace detail
}  // namespace ob
#endif

// torch.autocast("npu"): PyTorch's own lists of what runs in which precision.
//
// Their macros name C++ functions, from which PyTorch makes a kernel of its own type for each.  Here one kernel a
// policy takes any operator's arguments from the stack: compiling the others takes as long as all the rest of the
// device.
#include <ATen/autocast_mode.h>
#include <torch/library.h>

namespace opbridge::simulated {
namespace {

using at::autocast::CastPolicy;
using torch::jit::Stack;

constexpr c10::DeviceType kCastDevice = c10::DeviceType::PrivateUse1;

at::ScalarType half_type() { return at::autocast::get_lower_precision_fp_from_device_type(kCastDevice); }

c10::IValue in_type(at::ScalarType type, const c10::IValue& value) {
  if (value.isTensor()) return at::autocast::cached_cast(type, value.toTensor(), kCastDevice);
  if (!value.isTensorList()) return value;
  return at::autocast::cached_cast(type, at::TensorList(value.toTensorVector()), kCastDevice);
}

at::ScalarType widest(c10::ArrayRef<c10::IValue> values) {
  at::ScalarType type = half_type();
  for (const auto& value : values) {
    if (value.isTensor()) type = at::autocast::prioritize(type, value.toTensor(), kCastDevice);
    if (value.isTensorList())
      type = at::autocast::prioritize(type, at::TensorList(value.toTensorVector()), kCastDevice);
  }
  return type;
}

void cast_all(at::ScalarType type, Stack& stack, size_t count) {
  for (auto value = stack.end() - count; value != stack.end(); ++value) *value = in_type(type, *value);
}

// An argument `dtype` that the caller has left open, of functions that sum up.
void set_type_of_result(const c10::FunctionSchema& schema, Stack& stack) {
  const size_t count = schema.arguments().size();
  const auto first = stack.end() - count;
  if (!first->isTensor() || !at::autocast::is_eligible(first->toTensor(), kCastDevice)) return;
  const auto place = schema.argumentIndexWithName("dtype");
  if (place && first[*place].isNone()) first[*place] = at::kFloat;
}

template <CastPolicy policy>
void run(const c10::OperatorHandle& op, Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard once(c10::DispatchKey::AutocastPrivateUse1);
  const size_t count = op.schema().arguments().size();
  if constexpr (policy == CastPolicy::lower_precision_fp) cast_all(half_type(), *stack, count);
  if constexpr (policy == CastPolicy::fp32) cast_all(at::kFloat, *stack, count);
  if constexpr (policy == CastPolicy::promote) cast_all(widest(torch::jit::last(*stack, count)), *stack, count);
  if constexpr (policy == CastPolicy::fp32_set_opt_dtype) set_type_of_result(op.schema(), *stack);
  op.callBoxed(stack);
}

// The overloads of a norm without `dtype` are those with one, whose last argument it is.
void run_norm(const c10::OperatorHandle& op, Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard once(c10::DispatchKey::AutocastPrivateUse1);
  const at::Tensor& first = torch::jit::peek(*stack, 0, op.schema().arguments().size()).toTensor();
  const auto type = at::autocast::type_from_firstarg(kCastDevice, at::kFloat, first);
  torch::jit::push(*stack, type);
  const bool has_dimensions = op.schema().overload_name() == "ScalarOpt_dim";
  const char* typed = has_dimensions ? "ScalarOpt_dim_dtype" : "ScalarOpt_dtype";
  c10::Dispatcher::singleton().findSchemaOrThrow("aten::norm", typed).callBoxed(stack);
}

// `words` as the lists have them: "pow, Tensor_Scalar".
std::string operator_name(std::string words) {
  if (const size_t comma = words.find(", "); comma != words.npos) words.replace(comma, 2, ".");
  return words;
}

template <CastPolicy policy>
void add(torch::Library& library, const char* words) {
  library.impl(operator_name(words).c_str(), torch::CppFunction::makeFromBoxedFunction<&run<policy>>());
}

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
#define OPBRIDGE_IN_HALF(...) add<CastPolicy::lower_precision_fp>(m, #__VA_ARGS__);
#define OPBRIDGE_IN_FLOAT(...) add<CastPolicy::fp32>(m, #__VA_ARGS__);
#define OPBRIDGE_IN_GIVEN_TYPE(...) add<CastPolicy::fp32_set_opt_dtype>(m, #__VA_ARGS__);
#define OPBRIDGE_IN_WIDEST(...) add<CastPolicy::promote>(m, #__VA_ARGS__);
#define OPBRIDGE_NORM(function, name, ...) m.impl(name, torch::CppFunction::makeFromBoxedFunction<&run_norm>());
  AT_FORALL_LOWER_PRECISION_FP(OPBRIDGE_IN_HALF)
  AT_FORALL_FP32(OPBRIDGE_IN_FLOAT)
  AT_FORALL_FP32_SET_OPT_DTYPE(OPBRIDGE_IN_GIVEN_TYPE)
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(OPBRIDGE_NORM)
  AT_FORALL_PROMOTE(OPBRIDGE_IN_WIDEST)
}

}  // namespace
}  // namespace opbridge::simulated

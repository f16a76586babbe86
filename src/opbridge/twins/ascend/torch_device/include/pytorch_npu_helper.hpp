// EXEC_NPU_CMD(aclnnName, ...): both phases of a call of aclnn's, on PyTorch's tensors.
#ifndef OPBRIDGE_TORCH_DEVICE_PYTORCH_NPU_HELPER_H
#define OPBRIDGE_TORCH_DEVICE_PYTORCH_NPU_HELPER_H

#include <acl/acl.h>
#include <aclnn/acl_meta.h>
#include <dlfcn.h>
#include <torch/extension.h>

#include <tuple>
#include <type_traits>

namespace twin {

// The operators, and with them what makes tensors of theirs.
inline void* library() {
  static void* const handle = dlopen(getenv("OPBRIDGE_OPAPI"), RTLD_NOW | RTLD_LOCAL);
  TORCH_CHECK(handle != nullptr, dlerror());
  return handle;
}

template <class Function>
Function function(const char* name) {
  void* const found = dlsym(library(), name);
  TORCH_CHECK(found != nullptr, name, " is of no operator in ", getenv("OPBRIDGE_OPAPI"),
              ", and CANN's own are not here");
  return reinterpret_cast<Function>(found);
}

inline aclDataType type_of(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return ACL_FLOAT;
    case at::kHalf:
      return ACL_FLOAT16;
    case at::kBFloat16:
      return ACL_BF16;
    case at::kInt:
      return ACL_INT32;
    case at::kLong:
      return ACL_INT64;
    case at::kChar:
      return ACL_INT8;
    case at::kByte:
      return ACL_UINT8;
    case at::kShort:
      return ACL_INT16;
    case at::kBool:
      return ACL_BOOL;
    case at::kDouble:
      return ACL_DOUBLE;
    default:
      TORCH_CHECK(false, "no operator takes elements of ", type);
  }
}

// Arguments as aclnn takes them.  They are as short-lived as the call, and few: nobody destroys them.
inline const aclTensor* converted(const at::Tensor& x) {
  if (!x.defined()) return nullptr;
  const at::Tensor whole = x.contiguous();
  return function<decltype(&aclCreateTensor)>("aclCreateTensor")(
      whole.sizes().data(), static_cast<uint64_t>(whole.dim()), type_of(whole.scalar_type()), whole.strides().data(), 0,
      ACL_FORMAT_ND, whole.sizes().data(), static_cast<uint64_t>(whole.dim()), whole.data_ptr());
}
inline const aclTensor* converted(const std::optional<at::Tensor>& x) { return converted(x.value_or(at::Tensor())); }
inline const aclIntArray* converted(at::IntArrayRef values) {
  return function<decltype(&aclCreateIntArray)>("aclCreateIntArray")(values.data(), values.size());
}
inline const aclIntArray* converted(const std::vector<int64_t>& values) { return converted(at::IntArrayRef(values)); }
inline char* converted(const std::string& text) { return const_cast<char*>(text.c_str()); }
inline char* converted(const char* text) { return const_cast<char*>(text); }
inline double converted(const at::Scalar& value) { return value.toDouble(); }
template <class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
auto converted(Number value) {
  if constexpr (std::is_same_v<Number, bool>) {
    return value;
  } else if constexpr (std::is_floating_point_v<Number>) {
    return static_cast<double>(value);
  } else {
    return static_cast<int64_t>(value);
  }
}

// Whole tensors in the place of those with gaps, for as long as the call takes.
inline at::Tensor whole(const at::Tensor& x) { return x.defined() ? x.contiguous() : x; }
template <class T>
const T& whole(const T& other) {
  return other;
}

template <class... Arguments>
void planned_and_run(const char* name, Arguments... arguments) {
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  using Plan = aclnnStatus (*)(Arguments..., uint64_t*, aclOpExecutor**);
  using Run = aclnnStatus (*)(void*, uint64_t, aclOpExecutor*, void*);
  const auto said = function<decltype(&aclGetRecentErrMsg)>("aclGetRecentErrMsg");
  TORCH_CHECK(function<Plan>((std::string(name) + "GetWorkspaceSize").c_str())(arguments..., &bytes, &executor) == 0,
              said());
  at::Tensor workspace;
  if (bytes > 0) workspace = at::zeros({static_cast<int64_t>(bytes)}, at::device(at::kPrivateUse1).dtype(at::kByte));
  TORCH_CHECK(function<Run>(name)(bytes > 0 ? workspace.data_ptr() : nullptr, bytes, executor, nullptr) == 0, said());
}

template <class... Given>
void call(const char* name, const Given&... given) {
  const auto kept = std::make_tuple(whole(given)...);
  std::apply([&](const auto&... one) { planned_and_run(name, converted(one)...); }, kept);
}

}  // namespace twin

#define EXEC_NPU_CMD(name, ...) ::twin::call(#name, __VA_ARGS__)

#endif

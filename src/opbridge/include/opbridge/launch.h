// What opbridge writes around a kernel of Ascend C to start it for an operator; nobody includes it by hand.
#ifndef OPBRIDGE_LAUNCH_H
#define OPBRIDGE_LAUNCH_H

#include <acl/acl.h>
#include <opbridge/kernel.h>

namespace ob {
namespace [[gnu::visibility("hidden")]] launch {

template <class Tensor>
void* address(const Tensor& tensor) {
  return const_cast<void*>(static_cast<const void*>(tensor.data()));
}

// A tensor that is missing.
template <class Tensor>
void* address(const Optional<Tensor>& tensor) {
  return tensor ? address(*tensor) : nullptr;
}

// The value of an argument that may be missing, and is needed.
template <class T>
const T& given(const Optional<T>& argument, const char* name) {
  if (!argument) fail("the launch of the kernel needs '", name, "', which is None");
  return *argument;
}

inline void check(aclError status, const char* what) {
  if (status != ACL_SUCCESS) fail(what, " failed with the error ", int64_t{status}, " of acl");
}

// Memory of the device that is all zeros, as SyncAll wants it.
inline void* workspace(const Context& context, int64_t bytes) {
  if (bytes < 0) fail("a workspace of ", bytes, " bytes");
  void* const memory = scratch(static_cast<size_t>(bytes));
  check(aclrtMemsetAsync(memory, bytes, 0, bytes, context.stream()), "clearing the workspace");
  return memory;
}

template <class Struct>
void* on_device(const Context& context, const Struct& value) {
  void* const memory = scratch(sizeof value);
  // Waits, because the value is gone when the kernel's host returns.
  check(aclrtMemcpyAsync(memory, sizeof value, &value, sizeof value, ACL_MEMCPY_HOST_TO_DEVICE, context.stream()),
        "copying the tiling");
  check(aclrtSynchronizeStream(context.stream()), "copying the tiling");
  return memory;
}

// Division and its remainder as rules have them, towards the smaller number.
inline int64_t floor_divide(int64_t a, int64_t b) {
  if (b == 0) fail("launch: division by zero");
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
inline int64_t modulo(int64_t a, int64_t b) { return a - floor_divide(a, b) * b; }
inline int64_t ceil_divide(int64_t a, int64_t b) { return -floor_divide(-a, b); }

inline uint32_t blocks(int64_t count) {
  if (count < 1 || count > 65535) fail("launch: blockDim is ", count, ", expected 1 to 65535");
  return static_cast<uint32_t>(count);
}

}  // namespace launch
}  // namespace ob
#endif

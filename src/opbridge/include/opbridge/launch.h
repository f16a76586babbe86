// Support for the functions that opbridge generates to launch an Ascend C kernel; not for direct use.
#ifndef OPBRIDGE_LAUNCH_H
#define OPBRIDGE_LAUNCH_H

#include <acl/acl.h>
#include <opbridge/launch_values.h>

namespace ob {
namespace [[gnu::visibility("hidden")]] launch {

inline void check(aclError status, const char* what) {
  if (status != ACL_SUCCESS) fail(what, " failed with the error ", int64_t{status}, " of acl");
}

// Zeroed device memory, as SyncAll requires.
inline void* workspace(const Context& context, int64_t bytes) {
  if (bytes < 0) fail("a workspace of ", bytes, " bytes");
  void* const memory = scratch(static_cast<size_t>(bytes));
  check(aclrtMemsetAsync(memory, bytes, 0, bytes, context.stream()), "clearing the workspace");
  return memory;
}

template <class Struct>
void* on_device(const Context& context, const Struct& value) {
  void* const memory = scratch(sizeof value);
  // Waits, because the value is destroyed when the kernel's host function returns.
  check(aclrtMemcpyAsync(memory, sizeof value, &value, sizeof value, ACL_MEMCPY_HOST_TO_DEVICE, context.stream()),
        "copying the tiling");
  check(aclrtSynchronizeStream(context.stream()), "copying the tiling");
  return memory;
}

inline uint32_t blocks(int64_t count) {
  if (count < 1 || count > 65535) fail("launch: blockDim is ", count, ", expected 1 to 65535");
  return static_cast<uint32_t>(count);
}

}  // namespace launch
}  // namespace ob
#endif

// A host: doubles on the device, and with an argument does what a host must not.
#include <stdio.h>
#include <string.h>

#include "acl/acl.h"
#include "aclrtlaunch_times.h"

#define CHECK(call)                                             \
  if (const aclError error = (call); error != ACL_SUCCESS) {    \
    printf("%s: %d, %s\n", #call, error, aclGetRecentErrMsg()); \
    return 1;                                                   \
  }

int main(int argc, char** argv) {
  constexpr uint32_t n = 1024;
  constexpr size_t bytes = n * sizeof(aclFloat16);
  const char* const mistake = argc > 1 ? argv[1] : "";
  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(0));
  aclrtStream stream = nullptr;
  CHECK(aclrtCreateStream(&stream));
  void *host = nullptr, *x = nullptr, *out = nullptr;
  CHECK(aclrtMallocHost(&host, bytes));
  CHECK(aclrtMalloc(&x, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMalloc(&out, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  auto* const values = static_cast<aclFloat16*>(host);
  for (uint32_t i = 0; i < n; ++i) values[i] = aclFloatToFloat16(static_cast<float>(i % 100));

  if (strcmp(mistake, "read") == 0) return static_cast<aclFloat16*>(x)[0];
  if (strcmp(mistake, "direction") == 0) CHECK(aclrtMemcpy(x, bytes, host, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  if (strcmp(mistake, "size") == 0) CHECK(aclrtMemcpy(x, 2 * bytes, host, 2 * bytes, ACL_MEMCPY_HOST_TO_DEVICE));
  if (strcmp(mistake, "free") == 0) CHECK(aclrtFree(host));
  if (strcmp(mistake, "device") == 0) CHECK(aclrtSetDevice(99));

  CHECK(aclrtMemcpyAsync(x, bytes, host, bytes, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  ACLRT_LAUNCH_KERNEL(times)(1, stream, x, out, strcmp(mistake, "launch") == 0 ? 2 * n : n);
  CHECK(aclrtMemcpyAsync(host, bytes, out, bytes, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  CHECK(aclrtSynchronizeStream(stream));
  uint32_t right = 0;
  for (uint32_t i = 0; i < n; ++i) right += aclFloat16ToFloat(values[i]) == 2.0f * static_cast<float>(i % 100);
  printf("%u of %u are right\n", right, n);
  CHECK(aclrtFree(x));
  CHECK(aclrtFree(out));
  CHECK(aclrtFreeHost(host));
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
  return 0;
}

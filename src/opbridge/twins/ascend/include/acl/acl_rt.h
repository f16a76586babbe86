// Devices, streams, events and memory, as hosts of kernels use them; written from the public API reference.
#ifndef OPBRIDGE_ASCEND_ACL_RT_H
#define OPBRIDGE_ASCEND_ACL_RT_H

#include "acl_base.h"

typedef enum {
  ACL_MEM_MALLOC_HUGE_FIRST,
  ACL_MEM_MALLOC_HUGE_ONLY,
  ACL_MEM_MALLOC_NORMAL_ONLY,
  ACL_MEM_MALLOC_HUGE_FIRST_P2P,
  ACL_MEM_MALLOC_HUGE_ONLY_P2P,
  ACL_MEM_MALLOC_NORMAL_ONLY_P2P,
} aclrtMemMallocPolicy;

typedef enum {
  ACL_MEMCPY_HOST_TO_HOST,
  ACL_MEMCPY_HOST_TO_DEVICE,
  ACL_MEMCPY_DEVICE_TO_HOST,
  ACL_MEMCPY_DEVICE_TO_DEVICE,
  ACL_MEMCPY_DEFAULT,
} aclrtMemcpyKind;

typedef enum { ACL_DEVICE, ACL_HOST } aclrtRunMode;

typedef enum { ACL_DDR_MEM, ACL_HBM_MEM } aclrtMemAttr;

#ifdef __cplusplus
extern "C" {
#endif

aclError aclrtSetDevice(int32_t device);
aclError aclrtResetDevice(int32_t device);
aclError aclrtGetDevice(int32_t* device);
aclError aclrtGetDeviceCount(uint32_t* count);
aclError aclrtGetRunMode(aclrtRunMode* mode);
const char* aclrtGetSocName();

aclError aclrtCreateContext(aclrtContext* context, int32_t device);
aclError aclrtDestroyContext(aclrtContext context);
aclError aclrtSetCurrentContext(aclrtContext context);
aclError aclrtGetCurrentContext(aclrtContext* context);

aclError aclrtCreateStream(aclrtStream* stream);
aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flags);
aclError aclrtDestroyStream(aclrtStream stream);
aclError aclrtSynchronizeStream(aclrtStream stream);
aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t milliseconds);
aclError aclrtSynchronizeDevice();

aclError aclrtCreateEvent(aclrtEvent* event);
aclError aclrtDestroyEvent(aclrtEvent event);
aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);
aclError aclrtSynchronizeEvent(aclrtEvent event);
aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);
aclError aclrtEventElapsedTime(float* milliseconds, aclrtEvent start, aclrtEvent end);

aclError aclrtMalloc(void** memory, size_t bytes, aclrtMemMallocPolicy policy);
aclError aclrtFree(void* memory);
aclError aclrtMallocHost(void** memory, size_t bytes);
aclError aclrtFreeHost(void* memory);
aclError aclrtMemcpy(void* to, size_t capacity, const void* from, size_t bytes, aclrtMemcpyKind kind);
aclError aclrtMemcpyAsync(void* to, size_t capacity, const void* from, size_t bytes, aclrtMemcpyKind kind,
                          aclrtStream stream);
aclError aclrtMemset(void* memory, size_t capacity, int32_t value, size_t bytes);
aclError aclrtMemsetAsync(void* memory, size_t capacity, int32_t value, size_t bytes, aclrtStream stream);
aclError aclrtGetMemInfo(aclrtMemAttr attribute, size_t* free, size_t* total);

#ifdef __cplusplus
}
#endif

#endif

// acl's memory: what is on a device cannot be read by the host, and only acl copies between the two.
#include <acl/acl.h>
#include <opbridge_ascend/device.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#include <string>

#include "acl_state.h"

namespace opbridge_ascend {
namespace {

constexpr size_t kAlignment = 64;

// Whether so many bytes from an address on are one allocation's, where that is of a device.
aclError check_bounds(const char* call, const char* operand, const void* address, size_t bytes) {
  if (address == nullptr) return failed(ACL_ERROR_INVALID_PARAM, std::string(call) + ": " + operand + " is null");
  const ob_ascend_memory* const memory = ob_ascend_device_find(address);
  if (memory == nullptr) return ACL_SUCCESS;
  const auto* const begin = static_cast<const char*>(ob_ascend_window(memory->address));
  const auto at = static_cast<size_t>(static_cast<const char*>(ob_ascend_window(address)) - begin);
  if (at + bytes <= memory->bytes) return ACL_SUCCESS;
  return failed(ACL_ERROR_INVALID_PARAM, std::string(call) + ": " + std::to_string(bytes) + " bytes from byte " +
                                             std::to_string(at) + " on of " + operand + ", whose memory has " +
                                             std::to_string(memory->bytes));
}

// Checks one end of a copy against the copy's kind.  acl accepts unregistered host memory, so the only detectable
// mistake is device memory in place of host memory.
aclError check_place(const void* address, const char* operand, bool on_device) {
  if (on_device || ob_ascend_device_find(address) == nullptr) return ACL_SUCCESS;
  return failed(ACL_ERROR_INVALID_PARAM,
                std::string("aclrtMemcpy: ") + operand + " is on a device, and the kind of the copy says host");
}

aclError copy(void* to, size_t capacity, const void* from, size_t bytes, aclrtMemcpyKind kind) {
  if (bytes > capacity) {
    return failed(ACL_ERROR_INVALID_PARAM, "aclrtMemcpy: " + std::to_string(bytes) + " bytes do not fit the " +
                                               std::to_string(capacity) + " that the target is said to have");
  }
  if (bytes == 0) return ACL_SUCCESS;
  const bool any = kind == ACL_MEMCPY_DEFAULT;
  const bool to_device = any || kind == ACL_MEMCPY_HOST_TO_DEVICE || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
  const bool from_device = any || kind == ACL_MEMCPY_DEVICE_TO_HOST || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
  for (const aclError error :
       {check_bounds("aclrtMemcpy", "the target", to, bytes), check_bounds("aclrtMemcpy", "the source", from, bytes),
        check_place(to, "the target", to_device), check_place(from, "the source", from_device)}) {
    if (error != ACL_SUCCESS) return error;
  }
  memmove(ob_ascend_window(to), ob_ascend_window(from), bytes);
  return ACL_SUCCESS;
}

aclError fill(void* memory, size_t capacity, int32_t value, size_t bytes) {
  if (bytes > capacity)
    return failed(ACL_ERROR_INVALID_PARAM, "aclrtMemset: more bytes than the memory is said to have");
  if (bytes == 0) return ACL_SUCCESS;
  const aclError error = check_bounds("aclrtMemset", "the memory", memory, bytes);
  if (error == ACL_SUCCESS) memset(ob_ascend_window(memory), value, bytes);
  return error;
}

}  // namespace
}  // namespace opbridge_ascend

using namespace opbridge_ascend;

aclError aclrtMalloc(void** memory, size_t bytes, aclrtMemMallocPolicy) {
  if (memory == nullptr || bytes == 0) return failed(ACL_ERROR_INVALID_PARAM, "aclrtMalloc: no bytes, or no pointer");
  const ob_ascend_memory* const allocated = ob_ascend_device_allocate(current_device(), bytes);
  if (allocated == nullptr) return failed(ACL_ERROR_RT_MEMORY_ALLOCATION, "aclrtMalloc: out of memory");
  *memory = allocated->address;
  return ACL_SUCCESS;
}

aclError aclrtFree(void* memory) {
  ob_ascend_memory* const found = ob_ascend_device_find(memory);
  if (found == nullptr || found->address != memory) {
    return failed(ACL_ERROR_INVALID_PARAM, "aclrtFree: not what aclrtMalloc gave, or freed before");
  }
  ob_ascend_device_free(found);
  return ACL_SUCCESS;
}

aclError aclrtMallocHost(void** memory, size_t bytes) {
  if (memory == nullptr || bytes == 0) {
    return failed(ACL_ERROR_INVALID_PARAM, "aclrtMallocHost: no bytes, or no pointer");
  }
  *memory = aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  return *memory != nullptr ? ACL_SUCCESS : failed(ACL_ERROR_RT_MEMORY_ALLOCATION, "aclrtMallocHost: out of memory");
}

aclError aclrtFreeHost(void* memory) {
  if (ob_ascend_device_find(memory) != nullptr) {
    return failed(ACL_ERROR_INVALID_PARAM, "aclrtFreeHost: this is memory of a device, which aclrtFree frees");
  }
  free(memory);
  return ACL_SUCCESS;
}

aclError aclrtMemcpy(void* to, size_t capacity, const void* from, size_t bytes, aclrtMemcpyKind kind) {
  return copy(to, capacity, from, bytes, kind);
}

aclError aclrtMemcpyAsync(void* to, size_t capacity, const void* from, size_t bytes, aclrtMemcpyKind kind,
                          aclrtStream) {
  return copy(to, capacity, from, bytes, kind);
}

aclError aclrtMemset(void* memory, size_t capacity, int32_t value, size_t bytes) {
  return fill(memory, capacity, value, bytes);
}

aclError aclrtMemsetAsync(void* memory, size_t capacity, int32_t value, size_t bytes, aclrtStream) {
  return fill(memory, capacity, value, bytes);
}

aclError aclrtGetMemInfo(aclrtMemAttr, size_t* free, size_t* total) {
  struct sysinfo system;
  if (free == nullptr || total == nullptr || sysinfo(&system) != 0)
    return failed(ACL_ERROR_INVALID_PARAM, "aclrtGetMemInfo");
  *free = system.freeram * system.mem_unit;
  *total = system.totalram * system.mem_unit;
  return ACL_SUCCESS;
}

// Stands for torch_npu's header of this name: memory of the current device, and its statistics.
#ifndef OPBRIDGE_STAND_IN_CORE_NPU_NPUCACHINGALLOCATOR_H
#define OPBRIDGE_STAND_IN_CORE_NPU_NPUCACHINGALLOCATOR_H

#include <c10/core/CachingDeviceAllocator.h>
#include <torch_npu/csrc/core/npu/NPUFunctions.h>

#include <mutex>
#include <unordered_map>

namespace c10_npu::NPUCachingAllocator {

inline c10::DeviceAllocator* get() { return c10::getDeviceAllocator(c10::DeviceType::PrivateUse1); }

namespace opbridge_detail {
// Memory handed out as bare addresses, kept by them until they are given back.
struct Raw {
  std::mutex mutex;
  std::unordered_map<void*, c10::DataPtr> blocks;
};
inline Raw& raw() {
  static Raw& state = *new Raw;
  return state;
}
}  // namespace opbridge_detail

inline void* raw_alloc(size_t bytes) {
  c10::DataPtr data = get()->allocate(bytes);
  void* const address = data.get();
  const std::lock_guard<std::mutex> lock(opbridge_detail::raw().mutex);
  opbridge_detail::raw().blocks[address] = std::move(data);
  return address;
}
inline void* raw_alloc_with_stream(size_t bytes, aclrtStream) { return raw_alloc(bytes); }
inline void raw_delete(void* address) {
  const std::lock_guard<std::mutex> lock(opbridge_detail::raw().mutex);
  TORCH_CHECK(address == nullptr || opbridge_detail::raw().blocks.erase(address) == 1, "raw_delete: ", address,
              " is not what raw_alloc gave, or was given back before");
}

inline void emptyCache(bool = true) { get()->emptyCache(); }
inline void recordStream(const c10::DataPtr& data, NPUStream stream) { get()->recordStream(data, stream); }
inline auto getDeviceStats(c10::DeviceIndex index) { return get()->getDeviceStats(index); }
inline void resetAccumulatedStats(c10::DeviceIndex index) { get()->resetAccumulatedStats(index); }
inline void resetPeakStats(c10::DeviceIndex index) { get()->resetPeakStats(index); }

}  // namespace c10_npu::NPUCachingAllocator

#endif

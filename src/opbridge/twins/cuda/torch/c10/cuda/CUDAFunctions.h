// Stands before PyTorch's header of this name.
#ifndef OPBRIDGE_TWIN_C10_CUDA_FUNCTIONS_H
#define OPBRIDGE_TWIN_C10_CUDA_FUNCTIONS_H

#include <c10/core/Device.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAMacros.h>

#include <cstdint>
#include <optional>

namespace c10::cuda {

inline DeviceIndex device_count() noexcept { return 1; }
inline DeviceIndex device_count_ensure_non_zero() { return 1; }
inline DeviceIndex current_device() { return 0; }
inline void set_device(DeviceIndex, bool = false) {}
inline void device_synchronize() { C10_CUDA_CHECK(cudaDeviceSynchronize()); }
inline void warn_or_error_on_sync() {}

inline cudaError_t GetDeviceCount(int* count) { return cudaGetDeviceCount(count); }
inline cudaError_t GetDevice(DeviceIndex* device) {
  *device = 0;
  return cudaSuccess;
}
inline cudaError_t SetDevice(DeviceIndex device, bool = false) { return cudaSetDevice(device); }
inline cudaError_t MaybeSetDevice(DeviceIndex device) { return cudaSetDevice(device); }
inline DeviceIndex ExchangeDevice(DeviceIndex) { return 0; }
inline DeviceIndex MaybeExchangeDevice(DeviceIndex) { return 0; }
inline void SetTargetDevice() {}
inline bool hasPrimaryContext(DeviceIndex) { return true; }
inline std::optional<DeviceIndex> getDeviceIndexWithPrimaryContext() { return 0; }

inline void stream_synchronize(cudaStream_t stream) { C10_CUDA_CHECK(cudaStreamSynchronize(stream)); }
inline void memcpy_and_sync(void* to, const void* from, int64_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  C10_CUDA_CHECK(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), kind, stream));
  stream_synchronize(stream);
}

}  // namespace c10::cuda

#endif

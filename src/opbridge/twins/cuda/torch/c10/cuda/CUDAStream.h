// Stands before PyTorch's header of this name: the twin's streams as PyTorch's.
#ifndef OPBRIDGE_TWIN_C10_CUDA_STREAM_H
#define OPBRIDGE_TWIN_C10_CUDA_STREAM_H

#include <c10/core/Stream.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/cuda/CUDAFunctions.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <ostream>
#include <tuple>

namespace c10::cuda {

// A stream of the twin's by the name that extensions know; null is the default one.
class CUDAStream {
 public:
  explicit CUDAStream(cudaStream_t stream = nullptr) : stream_(stream) {}

  explicit CUDAStream(Stream stream) : stream_(reinterpret_cast<cudaStream_t>(stream.id())) {}

  operator cudaStream_t() const { return stream_; }
  operator Stream() const { return unwrap(); }
  Stream unwrap() const { return Stream(Stream::UNSAFE, device(), id()); }
  cudaStream_t stream() const { return stream_; }
  StreamId id() const { return static_cast<StreamId>(reinterpret_cast<intptr_t>(stream_)); }
  DeviceType device_type() const { return DeviceType::CUDA; }
  DeviceIndex device_index() const { return 0; }
  Device device() const { return Device(DeviceType::CUDA, 0); }
  int priority() const { return 0; }
  static std::tuple<int, int> priority_range() { return {0, 0}; }
  bool query() const { return cudaStreamQuery(stream_) == cudaSuccess; }
  bool is_capturing() const {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    C10_CUDA_CHECK(cudaStreamIsCapturing(stream_, &status));
    return status != cudaStreamCaptureStatusNone;
  }
  void synchronize() const { C10_CUDA_CHECK(cudaStreamSynchronize(stream_)); }
  bool operator==(const CUDAStream& other) const { return stream_ == other.stream_; }
  bool operator!=(const CUDAStream& other) const { return stream_ != other.stream_; }

 private:
  cudaStream_t stream_;
};

inline CUDAStream getDefaultCUDAStream(DeviceIndex = -1) { return CUDAStream(); }

#ifdef OPBRIDGE_TWIN_CUDA_DEVICE
inline CUDAStream getCurrentCUDAStream(DeviceIndex = -1) {
  return CUDAStream(c10::impl::getDeviceGuardImpl(DeviceType::CUDA)->getStream(Device(DeviceType::CUDA, 0)));
}
inline void setCurrentCUDAStream(CUDAStream stream) {
  c10::impl::getDeviceGuardImpl(DeviceType::CUDA)->exchangeStream(stream.unwrap());
}
#else
inline CUDAStream& ob_twin_current_stream() {
  static thread_local CUDAStream current;
  return current;
}
inline CUDAStream getCurrentCUDAStream(DeviceIndex = -1) { return ob_twin_current_stream(); }
inline void setCurrentCUDAStream(CUDAStream stream) { ob_twin_current_stream() = stream; }
#endif
inline CUDAStream getStreamFromExternal(cudaStream_t stream, DeviceIndex) { return CUDAStream(stream); }

// One after the other of a pool that never ends, as PyTorch gives them.
inline CUDAStream getStreamFromPool(bool = false, DeviceIndex = -1) {
  static std::array<std::atomic<cudaStream_t>, 32> pool = {};
  static std::atomic<size_t> next = 0;
  std::atomic<cudaStream_t>& place = pool[next++ % pool.size()];
  if (place.load() == nullptr) {
    cudaStream_t made = nullptr, none = nullptr;
    C10_CUDA_CHECK(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
    if (!place.compare_exchange_strong(none, made)) C10_CUDA_CHECK(cudaStreamDestroy(made));
  }
  return CUDAStream(place.load());
}
inline CUDAStream getStreamFromPool(int, DeviceIndex = -1) { return getStreamFromPool(false); }

inline std::ostream& operator<<(std::ostream& out, const CUDAStream& stream) { return out << stream.unwrap(); }

}  // namespace c10::cuda

namespace at::cuda {
using namespace c10::cuda;
}

template <>
struct std::hash<c10::cuda::CUDAStream> {
  size_t operator()(const c10::cuda::CUDAStream& stream) const noexcept {
    return std::hash<c10::Stream>{}(stream.unwrap());
  }
};

#endif

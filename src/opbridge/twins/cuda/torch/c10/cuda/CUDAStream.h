// Stands before PyTorch's header of this name: the twin's streams as PyTorch's.
#ifndef OPBRIDGE_TWIN_C10_CUDA_STREAM_H
#define OPBRIDGE_TWIN_C10_CUDA_STREAM_H

#include <c10/core/Stream.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/cuda/CUDAFunctions.h>

#include <cstdint>

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
  DeviceIndex device_index() const { return 0; }
  Device device() const { return Device(DeviceType::CUDA, 0); }
  int priority() const { return 0; }
  bool query() const { return cudaStreamQuery(stream_) == cudaSuccess; }
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

// PyTorch's pool never ends either.
inline CUDAStream getStreamFromPool(bool = false, DeviceIndex = -1) {
  static const CUDAStream stream = [] {
    cudaStream_t made = nullptr;
    C10_CUDA_CHECK(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
    return CUDAStream(made);
  }();
  return stream;
}

}  // namespace c10::cuda

namespace at::cuda {
using namespace c10::cuda;
}

#endif

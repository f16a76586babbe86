// Stands before PyTorch's header of this name: the twin is one device, so there is nothing to guard but the stream.
#ifndef OPBRIDGE_TWIN_C10_CUDA_GUARD_H
#define OPBRIDGE_TWIN_C10_CUDA_GUARD_H

#include <c10/cuda/CUDAStream.h>
#include <c10/util/ArrayRef.h>

#include <optional>

namespace c10::cuda {

// There is one device, so that there is nothing to set or to restore.
class CUDAGuard {
 public:
  explicit CUDAGuard(DeviceIndex) {}
  explicit CUDAGuard(Device) {}
  CUDAGuard(const CUDAGuard&) = delete;
  CUDAGuard& operator=(const CUDAGuard&) = delete;
  ~CUDAGuard() {}  // prevents a warning about an unused variable

  void set_device(Device) {}
  void reset_device(Device) {}
  void set_index(DeviceIndex) {}
  Device original_device() const { return Device(DeviceType::CUDA, 0); }
  Device current_device() const { return Device(DeviceType::CUDA, 0); }
};

class OptionalCUDAGuard {
 public:
  OptionalCUDAGuard() {}
  explicit OptionalCUDAGuard(std::optional<Device>) {}
  explicit OptionalCUDAGuard(DeviceIndex) {}
  OptionalCUDAGuard(const OptionalCUDAGuard&) = delete;
  OptionalCUDAGuard& operator=(const OptionalCUDAGuard&) = delete;
  ~OptionalCUDAGuard() {}

  void set_device(Device) {}
  void set_index(DeviceIndex) {}
  void reset() {}
};

// The current stream for as long as it lives.
class CUDAStreamGuard {
 public:
  explicit CUDAStreamGuard(CUDAStream stream) : original_(getCurrentCUDAStream()) { setCurrentCUDAStream(stream); }
  CUDAStreamGuard(const CUDAStreamGuard&) = delete;
  CUDAStreamGuard& operator=(const CUDAStreamGuard&) = delete;
  ~CUDAStreamGuard() { setCurrentCUDAStream(original_); }

  void reset_stream(CUDAStream stream) { setCurrentCUDAStream(stream); }
  CUDAStream original_stream() const { return original_; }
  CUDAStream current_stream() const { return getCurrentCUDAStream(); }
  Device original_device() const { return Device(DeviceType::CUDA, 0); }
  Device current_device() const { return Device(DeviceType::CUDA, 0); }

 private:
  CUDAStream original_;
};

class OptionalCUDAStreamGuard {
 public:
  OptionalCUDAStreamGuard() {}
  explicit OptionalCUDAStreamGuard(std::optional<CUDAStream> stream) {
    if (stream) reset_stream(*stream);
  }
  OptionalCUDAStreamGuard(const OptionalCUDAStreamGuard&) = delete;
  OptionalCUDAStreamGuard& operator=(const OptionalCUDAStreamGuard&) = delete;

  void reset_stream(CUDAStream stream) { guard_ ? guard_->reset_stream(stream) : void(guard_.emplace(stream)); }
  void reset() { guard_.reset(); }
  std::optional<CUDAStream> original_stream() const {
    return guard_ ? std::optional(guard_->original_stream()) : std::nullopt;
  }
  std::optional<CUDAStream> current_stream() const {
    return guard_ ? std::optional(guard_->current_stream()) : std::nullopt;
  }

 private:
  std::optional<CUDAStreamGuard> guard_;
};

// Each stream is of a device, which has one current stream: of one device that is the last.
class CUDAMultiStreamGuard {
 public:
  explicit CUDAMultiStreamGuard(ArrayRef<CUDAStream> streams) {
    if (!streams.empty()) guard_.reset_stream(streams.back());
  }

 private:
  OptionalCUDAStreamGuard guard_;
};

}  // namespace c10::cuda

namespace at::cuda {
using namespace c10::cuda;
}

#endif

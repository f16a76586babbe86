// Stands for torch_npu's header of this name.
#ifndef OPBRIDGE_STAND_IN_CORE_NPU_NPUGUARD_H
#define OPBRIDGE_STAND_IN_CORE_NPU_NPUGUARD_H

#include <c10/core/DeviceGuard.h>
#include <c10/core/StreamGuard.h>
#include <torch_npu/csrc/core/npu/NPUFunctions.h>

#include <optional>

namespace c10_npu {

// The current device for as long as it lives, and the one before it afterwards.
class NPUGuard {
 public:
  explicit NPUGuard(c10::DeviceIndex index) : guard_(opbridge_detail::device(index)) {}
  explicit NPUGuard(c10::Device device) : guard_(device) {}
  NPUGuard(const NPUGuard&) = delete;
  NPUGuard& operator=(const NPUGuard&) = delete;

  void set_device(c10::Device device) { guard_.reset_device(device); }
  void reset_device(c10::Device device) { guard_.reset_device(device); }
  void set_index(c10::DeviceIndex index) { guard_.set_index(index); }
  c10::Device original_device() const { return guard_.original_device(); }
  c10::Device current_device() const { return guard_.current_device(); }

 private:
  c10::DeviceGuard guard_;
};

// An NPUGuard where a device is given, else nothing.
class OptionalNPUGuard {
 public:
  OptionalNPUGuard() {}
  explicit OptionalNPUGuard(std::optional<c10::Device> device) : guard_(device) {}
  explicit OptionalNPUGuard(c10::DeviceIndex index) : guard_(opbridge_detail::device(index)) {}
  OptionalNPUGuard(const OptionalNPUGuard&) = delete;
  OptionalNPUGuard& operator=(const OptionalNPUGuard&) = delete;

  void set_device(c10::Device device) { guard_.reset_device(device); }
  std::optional<c10::Device> original_device() const { return guard_.original_device(); }
  std::optional<c10::Device> current_device() const { return guard_.current_device(); }

 private:
  c10::OptionalDeviceGuard guard_;
};

// The current stream, and its device, for as long as it lives.
class NPUStreamGuard {
 public:
  explicit NPUStreamGuard(c10::Stream stream) : guard_(stream) {}
  NPUStreamGuard(const NPUStreamGuard&) = delete;
  NPUStreamGuard& operator=(const NPUStreamGuard&) = delete;

  void reset_stream(c10::Stream stream) { guard_.reset_stream(stream); }
  NPUStream original_stream() const { return NPUStream(guard_.original_stream()); }
  NPUStream current_stream() const { return NPUStream(guard_.current_stream()); }
  c10::Device original_device() const { return guard_.original_device(); }
  c10::Device current_device() const { return guard_.current_device(); }

 private:
  c10::StreamGuard guard_;
};

}  // namespace c10_npu

#endif

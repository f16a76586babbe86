// Stands for torch_npu's header of this name.
#ifndef OPBRIDGE_STAND_IN_CORE_NPU_NPUEVENT_H
#define OPBRIDGE_STAND_IN_CORE_NPU_NPUEVENT_H

#include <c10/core/Event.h>
#include <torch_npu/csrc/core/npu/NPUStream.h>

namespace c10_npu {

// PyTorch's own event for PrivateUse1, by the name that extensions know; created when it is first recorded.
class NPUEvent {
 public:
  explicit NPUEvent(unsigned = 0) : event_(c10::DeviceType::PrivateUse1, c10::EventFlag::BACKEND_DEFAULT) {}

  bool isCreated() const { return event_.eventId() != nullptr; }
  c10::DeviceIndex device_index() const { return event_.device_index(); }
  bool query() const { return event_.query(); }
  void record() { record(getCurrentNPUStream()); }
  void record(const NPUStream& stream) { event_.record(stream); }
  void recordOnce(const NPUStream& stream) { event_.recordOnce(stream); }
  void block(const NPUStream& stream) { event_.block(stream); }
  float elapsed_time(const NPUEvent& other) const { return static_cast<float>(event_.elapsedTime(other.event_)); }
  void synchronize() const { event_.synchronize(); }

 private:
  c10::Event event_;
};

}  // namespace c10_npu

#endif

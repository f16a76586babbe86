// Stands for torch_npu's header of this name: streams of the simulated devices, whose work is done when its call
// returns.
#ifndef OPBRIDGE_STAND_IN_CORE_NPU_NPUSTREAM_H
#define OPBRIDGE_STAND_IN_CORE_NPU_NPUSTREAM_H

#include <acl/acl.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <cstdint>

namespace c10_npu {

namespace opbridge_detail {
inline const c10::impl::DeviceGuardImplInterface& guard() {
  return *c10::impl::getDeviceGuardImpl(c10::DeviceType::PrivateUse1);
}
inline c10::Device device(c10::DeviceIndex index) {
  return index < 0 ? guard().getDevice() : c10::Device(c10::DeviceType::PrivateUse1, index);
}
}  // namespace opbridge_detail

// A stream that is known to be an npu's, but where its maker says UNCHECKED.
class NPUStream {
 public:
  enum Unchecked { UNCHECKED };

  explicit NPUStream(c10::Stream stream) : stream_(stream) {
    TORCH_CHECK(stream.device_type() == c10::DeviceType::PrivateUse1, "expected a stream of an npu, got one of ",
                stream.device());
  }
  NPUStream(Unchecked, c10::Stream stream) : stream_(stream) {}

  bool operator==(const NPUStream& other) const noexcept { return unwrap() == other.unwrap(); }
  bool operator!=(const NPUStream& other) const noexcept { return unwrap() != other.unwrap(); }
  operator aclrtStream() const { return stream(); }
  operator c10::Stream() const { return unwrap(); }

  c10::DeviceType device_type() const { return c10::DeviceType::PrivateUse1; }
  c10::DeviceIndex device_index() const { return stream_.device_index(); }
  c10::Device device() const { return stream_.device(); }
  c10::StreamId id() const { return stream_.id(); }
  bool query() const { return stream_.query(); }
  void synchronize() const { opbridge_detail::guard().synchronizeStream(stream_); }
  aclrtStream stream() const { return opbridge_detail::guard().getStreamNativeHandle(stream_); }
  // Whether the queue of tasks is to be emptied first changes nothing here: there is none.
  aclrtStream stream(bool) const { return stream(); }
  c10::Stream unwrap() const { return stream_; }

 private:
  c10::Stream stream_;
};

inline NPUStream getCurrentNPUStream(c10::DeviceIndex index = -1) {
  return NPUStream(opbridge_detail::guard().getStream(opbridge_detail::device(index)));
}
inline NPUStream getDefaultNPUStream(c10::DeviceIndex index = -1) {
  return NPUStream(opbridge_detail::guard().getDefaultStream(opbridge_detail::device(index)));
}
inline NPUStream getNPUStreamFromPool(c10::DeviceIndex index = -1) {
  return NPUStream(opbridge_detail::guard().getNewStream(opbridge_detail::device(index)));
}
inline NPUStream getStreamFromPool(bool = false, c10::DeviceIndex index = -1) { return getNPUStreamFromPool(index); }
inline void setCurrentNPUStream(NPUStream stream) { opbridge_detail::guard().exchangeStream(stream); }
inline aclError npuSynchronizeDevice(bool = true) {
  opbridge_detail::guard().synchronizeDevice(-1);
  return ACL_SUCCESS;
}

}  // namespace c10_npu

#endif

// Stands for torch_npu's header of this name.
#ifndef OPBRIDGE_STAND_IN_CORE_NPU_NPUFUNCTIONS_H
#define OPBRIDGE_STAND_IN_CORE_NPU_NPUFUNCTIONS_H

#include <torch_npu/csrc/core/npu/NPUStream.h>

namespace c10_npu {

inline c10::DeviceIndex device_count() noexcept { return opbridge_detail::guard().deviceCount(); }
inline c10::DeviceIndex device_count_ensure_non_zero() { return device_count(); }
inline c10::DeviceIndex current_device() { return opbridge_detail::guard().getDevice().index(); }
inline void set_device(c10::DeviceIndex index) { opbridge_detail::guard().setDevice(opbridge_detail::device(index)); }
inline void device_synchronize() { opbridge_detail::guard().synchronizeDevice(current_device()); }

inline aclError GetDevice(int32_t* index) {
  *index = current_device();
  return ACL_SUCCESS;
}
inline aclError SetDevice(c10::DeviceIndex index) {
  set_device(index);
  return ACL_SUCCESS;
}

}  // namespace c10_npu

#endif

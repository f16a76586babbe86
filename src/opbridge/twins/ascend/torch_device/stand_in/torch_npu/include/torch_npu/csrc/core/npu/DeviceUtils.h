// Stands for torch_npu's header of this name.
#ifndef OPBRIDGE_STAND_IN_CORE_NPU_DEVICEUTILS_H
#define OPBRIDGE_STAND_IN_CORE_NPU_DEVICEUTILS_H

#include <ATen/core/Tensor.h>

namespace torch_npu::utils {

inline bool is_npu(const at::Tensor& tensor) { return tensor.is_privateuseone(); }
inline bool is_npu(const at::TensorOptions& options) { return options.device().is_privateuseone(); }
inline bool is_npu(const at::Device& device) { return device.is_privateuseone(); }
inline c10::DeviceType get_npu_device_type() { return c10::DeviceType::PrivateUse1; }

}  // namespace torch_npu::utils

#endif

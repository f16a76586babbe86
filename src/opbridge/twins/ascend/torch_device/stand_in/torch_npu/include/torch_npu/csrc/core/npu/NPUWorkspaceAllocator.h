// Stands for torch_npu's header of this name: scratch memory of kernels, which is memory like any other here.
#ifndef OPBRIDGE_STAND_IN_CORE_NPU_NPUWORKSPACEALLOCATOR_H
#define OPBRIDGE_STAND_IN_CORE_NPU_NPUWORKSPACEALLOCATOR_H

#include <ATen/ops/empty.h>
#include <torch_npu/csrc/core/npu/NPUCachingAllocator.h>

namespace c10_npu::NPUWorkspaceAllocator {

inline c10::DeviceAllocator* get() { return NPUCachingAllocator::get(); }
inline void emptyCache(bool = true) { NPUCachingAllocator::emptyCache(); }
inline c10::DataPtr malloc_with_stream(size_t bytes, aclrtStream) { return get()->allocate(bytes); }

}  // namespace c10_npu::NPUWorkspaceAllocator

namespace at_npu::native {

// Lives as long as the tensor.
inline at::Tensor allocate_workspace(uint64_t bytes, aclrtStream) {
  const auto options = at::TensorOptions().dtype(at::kByte).device(c10::DeviceType::PrivateUse1);
  return at::empty({static_cast<int64_t>(bytes)}, options);
}

}  // namespace at_npu::native

#endif

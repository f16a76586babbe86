// The generator that extensions ask for the seed of what a kernel draws: PyTorch's for the CPU.
#ifndef OPBRIDGE_TWIN_ATEN_CUDA_CUDAGENERATORIMPL_H
#define OPBRIDGE_TWIN_ATEN_CUDA_CUDAGENERATORIMPL_H

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/cuda/PhiloxCudaState.h>

#include <mutex>
#include <utility>

namespace at {

// No member of its own: every generator of the CPU can be taken for one.
struct CUDAGeneratorImpl : CPUGeneratorImpl {
  // CUDA's counts on by `increment` in one sequence; here each call has a sequence of its own.
  PhiloxCudaState philox_cuda_state(uint64_t /*increment*/) { return {random64(), uint64_t{0}}; }
  std::pair<uint64_t, uint64_t> philox_engine_inputs(uint64_t /*increment*/) { return {random64(), 0}; }
};

namespace cuda::detail {
inline const Generator& getDefaultCUDAGenerator(DeviceIndex /*device*/ = -1) {
  return at::detail::getDefaultCPUGenerator();
}
inline Generator createCUDAGenerator(DeviceIndex /*device*/ = -1) { return at::detail::createCPUGenerator(); }
}  // namespace cuda::detail
}  // namespace at

#endif

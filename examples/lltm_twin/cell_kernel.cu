#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

#include <vector>

namespace {

template <typename T, int dims>
using Accessor = torch::PackedTensorAccessor32<T, dims, torch::RestrictPtrTraits>;

constexpr int kThreads = 128;

template <typename scalar_t>
__global__ void forward_kernel(const Accessor<scalar_t, 3> sums, const Accessor<scalar_t, 2> state,
                               Accessor<scalar_t, 2> keep, Accessor<scalar_t, 2> proposal,
                               Accessor<scalar_t, 2> new_state) {
  const int row = blockIdx.y;
  const int unit = blockIdx.x * blockDim.x + threadIdx.x;
  if (unit >= state.size(1)) return;
  const scalar_t kept = scalar_t(1) / (scalar_t(1) + exp(-sums[row][0][unit]));
  const scalar_t proposed = tanh(sums[row][1][unit]);
  keep[row][unit] = kept;
  proposal[row][unit] = proposed;
  new_state[row][unit] = kept * state[row][unit] + (scalar_t(1) - kept) * proposed;
}

template <typename scalar_t>
__global__ void backward_kernel(const Accessor<scalar_t, 2> grad, const Accessor<scalar_t, 2> keep,
                                const Accessor<scalar_t, 2> proposal, const Accessor<scalar_t, 2> state,
                                Accessor<scalar_t, 3> grad_sums, Accessor<scalar_t, 2> grad_state) {
  const int row = blockIdx.y;
  const int unit = blockIdx.x * blockDim.x + threadIdx.x;
  if (unit >= state.size(1)) return;
  const scalar_t g = grad[row][unit], kept = keep[row][unit], proposed = proposal[row][unit];
  grad_sums[row][0][unit] = g * (state[row][unit] - proposed) * kept * (scalar_t(1) - kept);
  grad_sums[row][1][unit] = g * (scalar_t(1) - kept) * (scalar_t(1) - proposed * proposed);
  grad_state[row][unit] = g * kept;
}

dim3 blocks_for(const torch::Tensor& state) { return dim3((state.size(1) + kThreads - 1) / kThreads, state.size(0)); }

}  // namespace

std::vector<torch::Tensor> cell_forward_cuda(torch::Tensor sums, torch::Tensor state) {
  const c10::cuda::OptionalCUDAGuard guard(device_of(state));
  auto keep = torch::zeros_like(state), proposal = torch::zeros_like(state), new_state = torch::zeros_like(state);
  AT_DISPATCH_FLOATING_TYPES(state.scalar_type(), "cell_forward", ([&] {
                               forward_kernel<scalar_t>
                                   <<<blocks_for(state), kThreads, 0, at::cuda::getCurrentCUDAStream()>>>(
                                       sums.packed_accessor32<scalar_t, 3, torch::RestrictPtrTraits>(),
                                       state.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
                                       keep.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
                                       proposal.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
                                       new_state.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>());
                             }));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return {new_state, keep, proposal};
}

std::vector<torch::Tensor> cell_backward_cuda(torch::Tensor grad, torch::Tensor keep, torch::Tensor proposal,
                                              torch::Tensor state) {
  const c10::cuda::OptionalCUDAGuard guard(device_of(state));
  auto grad_sums = torch::zeros({state.size(0), 2, state.size(1)}, state.options());
  auto grad_state = torch::zeros_like(state);
  AT_DISPATCH_FLOATING_TYPES(state.scalar_type(), "cell_backward", ([&] {
                               backward_kernel<scalar_t>
                                   <<<blocks_for(state), kThreads, 0, at::cuda::getCurrentCUDAStream()>>>(
                                       grad.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
                                       keep.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
                                       proposal.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
                                       state.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
                                       grad_sums.packed_accessor32<scalar_t, 3, torch::RestrictPtrTraits>(),
                                       grad_state.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>());
                             }));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return {grad_sums, grad_state};
}

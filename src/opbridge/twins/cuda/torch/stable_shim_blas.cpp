// PyTorch's handle of cuBLAS, as extensions on its stable ABI ask for it.
#include <ATen/cuda/CUDAContext.h>
#include <opbridge_twin/stable_told.h>

#pragma GCC visibility push(hidden)
extern "C" AOTITorchError torch_get_current_cuda_blas_handle(void** handle) {
  return opbridge_twin::told([&] { *handle = at::cuda::getCurrentCUDABlasHandle(); });
}
#pragma GCC visibility pop

// Stands before PyTorch's header of this name.
#ifndef OPBRIDGE_TWIN_C10_CUDA_EXCEPTION_H
#define OPBRIDGE_TWIN_C10_CUDA_EXCEPTION_H

#include <c10/util/Exception.h>
#include <cuda_runtime_api.h>
#include <opbridge_twin/error_text.h>

namespace c10 {
class CUDAError : public AcceleratorError {
  using AcceleratorError::AcceleratorError;
};
}  // namespace c10

namespace opbridge_twin {

[[noreturn]] inline void throw_cuda_error(c10::SourceLocation place, cudaError_t error) {
  throw c10::CUDAError(place, error, take_error_text(error));
}

}  // namespace opbridge_twin

#define C10_CUDA_CHECK(EXPR)                                                                                 \
  do {                                                                                                       \
    const cudaError_t ob_twin_error = (EXPR);                                                                \
    if (ob_twin_error != cudaSuccess)                                                                        \
      opbridge_twin::throw_cuda_error({__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, ob_twin_error); \
  } while (0)

#define C10_CUDA_CHECK_WARN(EXPR)                                      \
  do {                                                                 \
    const cudaError_t ob_twin_error = (EXPR);                          \
    if (ob_twin_error != cudaSuccess) {                                \
      (void)cudaGetLastError();                                        \
      TORCH_WARN("CUDA warning: ", cudaGetErrorString(ob_twin_error)); \
    }                                                                  \
  } while (0)

#define C10_CUDA_ERROR_HANDLED(EXPR) (EXPR)
#define C10_CUDA_IGNORE_ERROR(EXPR) ((void)(EXPR))
#define C10_CUDA_CLEAR_ERROR() ((void)cudaGetLastError())
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())

#endif

// Stands before PyTorch's header of this name.
#ifndef OPBRIDGE_TWIN_ATEN_CUDA_CONTEXT_LIGHT_H
#define OPBRIDGE_TWIN_ATEN_CUDA_CONTEXT_LIGHT_H

#include <ATen/cuda/Exceptions.h>
#include <c10/cuda/CUDAStream.h>
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cusolverDn.h>
#include <cusparse.h>

// The twin's cuBLAS has it.
extern "C" cublasHandle_t ob_twin_blas_handle_of_thread(cudaStream_t stream);

namespace at::cuda {

inline int64_t getNumGPUs() { return c10::cuda::device_count(); }
inline bool is_available() { return true; }

inline cudaDeviceProp* getDeviceProperties(c10::DeviceIndex) {
  static cudaDeviceProp properties = [] {
    cudaDeviceProp asked;
    AT_CUDA_CHECK(cudaGetDeviceProperties(&asked, 0));
    return asked;
  }();
  return &properties;
}
inline cudaDeviceProp* getCurrentDeviceProperties() { return getDeviceProperties(0); }
inline int warp_size() { return getCurrentDeviceProperties()->warpSize; }

inline cublasHandle_t getCurrentCUDABlasHandle(bool = true) {
  return ob_twin_blas_handle_of_thread(c10::cuda::getCurrentCUDAStream());
}

}  // namespace at::cuda

#endif

// Elements whose type is an argument, as doubles, which hold each of them.
#ifndef OPBRIDGE_TWIN_LIBRARIES_ELEMENTS_H
#define OPBRIDGE_TWIN_LIBRARIES_ELEMENTS_H

#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cmath>

namespace opbridge_twin::blas {

// 0 for a type that is not there.
inline size_t bytes_of(cudaDataType type) {
  switch (type) {
    case CUDA_R_8I:
    case CUDA_R_8F_E4M3:
    case CUDA_R_8F_E5M2:
      return 1;
    case CUDA_R_16F:
    case CUDA_R_16BF:
      return 2;
    case CUDA_R_32F:
    case CUDA_R_32I:
      return 4;
    case CUDA_R_64F:
      return 8;
    default:
      return 0;
  }
}

inline double load(const void* from, cudaDataType type, ptrdiff_t at) {
  switch (type) {
    case CUDA_R_8I:
      return static_cast<const int8_t*>(from)[at];
    case CUDA_R_16F:
      return static_cast<float>(static_cast<const __half*>(from)[at]);
    case CUDA_R_16BF:
      return static_cast<float>(static_cast<const __nv_bfloat16*>(from)[at]);
    case CUDA_R_8F_E4M3:
      return static_cast<float>(static_cast<const __nv_fp8_e4m3*>(from)[at]);
    case CUDA_R_8F_E5M2:
      return static_cast<float>(static_cast<const __nv_fp8_e5m2*>(from)[at]);
    case CUDA_R_32I:
      return static_cast<const int32_t*>(from)[at];
    case CUDA_R_32F:
      return static_cast<const float*>(from)[at];
    default:
      return static_cast<const double*>(from)[at];
  }
}

inline void store(void* to, cudaDataType type, ptrdiff_t at, double value) {
  switch (type) {
    case CUDA_R_8I:
      static_cast<int8_t*>(to)[at] = static_cast<int8_t>(std::fmax(-128, std::fmin(127, value)));
      break;
    case CUDA_R_16F:
      static_cast<__half*>(to)[at] = __half(static_cast<float>(value));
      break;
    case CUDA_R_16BF:
      static_cast<__nv_bfloat16*>(to)[at] = __nv_bfloat16(static_cast<float>(value));
      break;
    case CUDA_R_8F_E4M3:
      static_cast<__nv_fp8_e4m3*>(to)[at] = __nv_fp8_e4m3(value);
      break;
    case CUDA_R_8F_E5M2:
      static_cast<__nv_fp8_e5m2*>(to)[at] = __nv_fp8_e5m2(value);
      break;
    // Sums of whole numbers wrap around.
    case CUDA_R_32I:
      static_cast<uint32_t*>(to)[at] = static_cast<uint32_t>(static_cast<int64_t>(value));
      break;
    case CUDA_R_32F:
      static_cast<float*>(to)[at] = static_cast<float>(value);
      break;
    default:
      static_cast<double*>(to)[at] = value;
  }
}

inline cudaDataType type_of_scalars(cublasComputeType_t compute) {
  switch (compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return CUDA_R_16F;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return CUDA_R_32I;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      return CUDA_R_64F;
    default:
      return CUDA_R_32F;
  }
}

}  // namespace opbridge_twin::blas
#endif

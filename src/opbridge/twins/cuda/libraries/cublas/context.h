// What a handle of cuBLAS holds.
#ifndef OPBRIDGE_TWIN_LIBRARIES_CUBLAS_CONTEXT_H
#define OPBRIDGE_TWIN_LIBRARIES_CUBLAS_CONTEXT_H

#include <cublas_v2.h>

// Only the pointer mode changes what a call does; the others are kept to be asked for.
struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasPointerMode_t mode = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
};

#endif

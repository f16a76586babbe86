// cuSOLVER as far as the twin has it: dense systems by LU and Cholesky, for the four types of BLAS.
#ifndef OPBRIDGE_TWIN_CUSOLVER_DN_H
#define OPBRIDGE_TWIN_CUSOLVER_DN_H
#define CUSOLVERDN_H_
#define CUSOLVER_COMMON_H_  // how programs ask whether it is included

#include <cublas_v2.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  CUSOLVER_STATUS_SUCCESS = 0,
  CUSOLVER_STATUS_NOT_INITIALIZED = 1,
  CUSOLVER_STATUS_ALLOC_FAILED = 2,
  CUSOLVER_STATUS_INVALID_VALUE = 3,
  CUSOLVER_STATUS_ARCH_MISMATCH = 4,
  CUSOLVER_STATUS_MAPPING_ERROR = 5,
  CUSOLVER_STATUS_EXECUTION_FAILED = 6,
  CUSOLVER_STATUS_INTERNAL_ERROR = 7,
  CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED = 8,
  CUSOLVER_STATUS_NOT_SUPPORTED = 9,
  CUSOLVER_STATUS_ZERO_PIVOT = 10,
  CUSOLVER_STATUS_INVALID_LICENSE = 11
} cusolverStatus_t;
typedef struct cusolverDnContext* cusolverDnHandle_t;

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* handle);
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle);
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream);

// Declares the functions of each letter; `info` is the first pivot that is 0 or not positive, counted from 1.
#define OB_TWIN_SOLVER(letter, T)                                                                                      \
  cusolverStatus_t cusolverDn##letter##getrf_bufferSize(cusolverDnHandle_t handle, int m, int n, T* a, int lda,        \
                                                        int* elements);                                                \
  cusolverStatus_t cusolverDn##letter##getrf(cusolverDnHandle_t handle, int m, int n, T* a, int lda, T* workspace,     \
                                             int* pivots, int* info);                                                  \
  cusolverStatus_t cusolverDn##letter##getrs(cusolverDnHandle_t handle, cublasOperation_t op, int n, int columns,      \
                                             const T* a, int lda, const int* pivots, T* b, int ldb, int* info);        \
  cusolverStatus_t cusolverDn##letter##potrf_bufferSize(cusolverDnHandle_t handle, cublasFillMode_t fill, int n, T* a, \
                                                        int lda, int* elements);                                       \
  cusolverStatus_t cusolverDn##letter##potrf(cusolverDnHandle_t handle, cublasFillMode_t fill, int n, T* a, int lda,   \
                                             T* workspace, int elements, int* info);                                   \
  cusolverStatus_t cusolverDn##letter##potrs(cusolverDnHandle_t handle, cublasFillMode_t fill, int n, int columns,     \
                                             const T* a, int lda, T* b, int ldb, int* info);
OB_TWIN_SOLVER(S, float)
OB_TWIN_SOLVER(D, double)
OB_TWIN_SOLVER(C, cuComplex)
OB_TWIN_SOLVER(Z, cuDoubleComplex)
#undef OB_TWIN_SOLVER

#ifdef __cplusplus
}
#endif
#endif

// cuBLAS as far as the twin has it: column-major, on the twin's memory, done when a call returns.
#ifndef OPBRIDGE_TWIN_CUBLAS_V2_H
#define OPBRIDGE_TWIN_CUBLAS_V2_H
#define CUBLAS_V2_H_
#define CUBLAS_API_H_  // how programs ask whether it is included

#include <cuComplex.h>
#include <cuda_runtime_api.h>
#include <library_types.h>
#include <stdint.h>

#define CUBLAS_VER_MAJOR 12
#define CUBLAS_VER_MINOR 8
#define CUBLAS_VERSION 120800

#ifdef __cplusplus
#include <cuda_bf16.h>
#include <cuda_fp16.h>
extern "C" {
#else
typedef struct {
  unsigned short x;
} __half;
#endif

typedef enum {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
  CUBLAS_STATUS_LICENSE_ERROR = 16
} cublasStatus_t;
typedef enum {
  CUBLAS_OP_N = 0,
  CUBLAS_OP_T = 1,
  CUBLAS_OP_C = 2,
  CUBLAS_OP_HERMITAN = 2,
  CUBLAS_OP_CONJG = 3
} cublasOperation_t;
typedef enum { CUBLAS_FILL_MODE_LOWER = 0, CUBLAS_FILL_MODE_UPPER = 1, CUBLAS_FILL_MODE_FULL = 2 } cublasFillMode_t;
typedef enum { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 } cublasDiagType_t;
typedef enum { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 } cublasSideMode_t;
typedef enum { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 } cublasPointerMode_t;
typedef enum { CUBLAS_ATOMICS_NOT_ALLOWED = 0, CUBLAS_ATOMICS_ALLOWED = 1 } cublasAtomicsMode_t;
typedef enum {
  CUBLAS_DEFAULT_MATH = 0,
  CUBLAS_TENSOR_OP_MATH = 1,
  CUBLAS_PEDANTIC_MATH = 2,
  CUBLAS_TF32_TENSOR_OP_MATH = 3,
  CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16
} cublasMath_t;
typedef enum { CUBLAS_GEMM_DFALT = -1, CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 } cublasGemmAlgo_t;
typedef enum {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_16F_PEDANTIC = 65,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_PEDANTIC = 69,
  CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_64F_PEDANTIC = 71,
  CUBLAS_COMPUTE_32I = 72,
  CUBLAS_COMPUTE_32I_PEDANTIC = 73,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77
} cublasComputeType_t;
typedef cudaDataType cublasDataType_t;
typedef struct cublasContext* cublasHandle_t;

#ifndef __cplusplus
#define cublasCreate cublasCreate_v2
#endif
cublasStatus_t cublasCreate_v2(cublasHandle_t* handle);
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle);
cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int* version);
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream);
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode);
cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode);
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode);
cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode);
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes);
const char* cublasGetStatusString(cublasStatus_t status);
const char* cublasGetStatusName(cublasStatus_t status);
cublasStatus_t cublasSetVector(int n, int bytes, const void* x, int incx, void* y, int incy);
cublasStatus_t cublasGetVector(int n, int bytes, const void* x, int incx, void* y, int incy);
cublasStatus_t cublasSetMatrix(int rows, int cols, int bytes, const void* a, int lda, void* b, int ldb);
cublasStatus_t cublasGetMatrix(int rows, int cols, int bytes, const void* a, int lda, void* b, int ldb);

#define cublasCreate cublasCreate_v2
#define cublasDestroy cublasDestroy_v2
#define cublasGetVersion cublasGetVersion_v2
#define cublasSetStream cublasSetStream_v2
#define cublasGetStream cublasGetStream_v2
#define cublasSetPointerMode cublasSetPointerMode_v2
#define cublasGetPointerMode cublasGetPointerMode_v2
#define cublasSetWorkspace cublasSetWorkspace_v2

// Functions for all four types, with the names of BLAS.
#define OB_TWIN_BLAS(letter, T)                                                                                       \
  cublasStatus_t cublas##letter##axpy(cublasHandle_t, int n, const T* alpha, const T* x, int incx, T* y, int incy);   \
  cublasStatus_t cublas##letter##copy(cublasHandle_t, int n, const T* x, int incx, T* y, int incy);                   \
  cublasStatus_t cublas##letter##swap(cublasHandle_t, int n, T* x, int incx, T* y, int incy);                         \
  cublasStatus_t cublas##letter##scal(cublasHandle_t, int n, const T* alpha, T* x, int incx);                         \
  cublasStatus_t cublasI##letter##amax_v2(cublasHandle_t, int n, const T* x, int incx, int* result);                  \
  cublasStatus_t cublasI##letter##amin_v2(cublasHandle_t, int n, const T* x, int incx, int* result);                  \
  cublasStatus_t cublas##letter##gemv(cublasHandle_t, cublasOperation_t trans, int m, int n, const T* alpha,          \
                                      const T* a, int lda, const T* x, int incx, const T* beta, T* y, int incy);      \
  cublasStatus_t cublas##letter##trsv(cublasHandle_t, cublasFillMode_t fill, cublasOperation_t trans,                 \
                                      cublasDiagType_t diag, int n, const T* a, int lda, T* x, int incx);             \
  cublasStatus_t cublas##letter##gemm(cublasHandle_t, cublasOperation_t transa, cublasOperation_t transb, int m,      \
                                      int n, int k, const T* alpha, const T* a, int lda, const T* b, int ldb,         \
                                      const T* beta, T* c, int ldc);                                                  \
  cublasStatus_t cublas##letter##gemmBatched(                                                                         \
      cublasHandle_t, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const T* alpha,        \
      const T* const a[], int lda, const T* const b[], int ldb, const T* beta, T* const c[], int ldc, int count);     \
  cublasStatus_t cublas##letter##gemmStridedBatched(                                                                  \
      cublasHandle_t, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const T* alpha,        \
      const T* a, int lda, long long stridea, const T* b, int ldb, long long strideb, const T* beta, T* c, int ldc,   \
      long long stridec, int count);                                                                                  \
  cublasStatus_t cublas##letter##symm(cublasHandle_t, cublasSideMode_t side, cublasFillMode_t fill, int m, int n,     \
                                      const T* alpha, const T* a, int lda, const T* b, int ldb, const T* beta, T* c,  \
                                      int ldc);                                                                       \
  cublasStatus_t cublas##letter##syrk(cublasHandle_t, cublasFillMode_t fill, cublasOperation_t trans, int n, int k,   \
                                      const T* alpha, const T* a, int lda, const T* beta, T* c, int ldc);             \
  cublasStatus_t cublas##letter##trsm(cublasHandle_t, cublasSideMode_t side, cublasFillMode_t fill,                   \
                                      cublasOperation_t trans, cublasDiagType_t diag, int m, int n, const T* alpha,   \
                                      const T* a, int lda, T* b, int ldb);                                            \
  cublasStatus_t cublas##letter##geam(cublasHandle_t, cublasOperation_t transa, cublasOperation_t transb, int m,      \
                                      int n, const T* alpha, const T* a, int lda, const T* beta, const T* b, int ldb, \
                                      T* c, int ldc);                                                                 \
  cublasStatus_t cublas##letter##dgmm(cublasHandle_t, cublasSideMode_t side, int m, int n, const T* a, int lda,       \
                                      const T* x, int incx, T* c, int ldc);                                           \
  cublasStatus_t cublas##letter##getrfBatched(cublasHandle_t, int n, T* const a[], int lda, int* pivots, int* info,   \
                                              int count);                                                             \
  cublasStatus_t cublas##letter##getriBatched(cublasHandle_t, int n, const T* const a[], int lda, const int* pivots,  \
                                              T* const c[], int ldc, int* info, int count);                           \
  cublasStatus_t cublas##letter##getrsBatched(cublasHandle_t, cublasOperation_t trans, int n, int nrhs,               \
                                              const T* const a[], int lda, const int* pivots, T* const b[], int ldb,  \
                                              int* info, int count);                                                  \
  cublasStatus_t cublas##letter##gelsBatched(cublasHandle_t, cublasOperation_t trans, int m, int n, int nrhs,         \
                                             T* const a[], int lda, T* const c[], int ldc, int* info, int* dev_info,  \
                                             int count);
OB_TWIN_BLAS(S, float)
OB_TWIN_BLAS(D, double)
OB_TWIN_BLAS(C, cuComplex)
OB_TWIN_BLAS(Z, cuDoubleComplex)
#undef OB_TWIN_BLAS
#define cublasIsamax cublasISamax_v2
#define cublasIdamax cublasIDamax_v2
#define cublasIcamax cublasICamax_v2
#define cublasIzamax cublasIZamax_v2
#define cublasIsamin cublasISamin_v2
#define cublasIdamin cublasIDamin_v2
#define cublasIcamin cublasICamin_v2
#define cublasIzamin cublasIZamin_v2

cublasStatus_t cublasCsscal(cublasHandle_t, int n, const float* alpha, cuComplex* x, int incx);
cublasStatus_t cublasZdscal(cublasHandle_t, int n, const double* alpha, cuDoubleComplex* x, int incx);
cublasStatus_t cublasSrot(cublasHandle_t, int n, float* x, int incx, float* y, int incy, const float* c,
                          const float* s);
cublasStatus_t cublasDrot(cublasHandle_t, int n, double* x, int incx, double* y, int incy, const double* c,
                          const double* s);

#define OB_TWIN_DOT(name, T) \
  cublasStatus_t cublas##name(cublasHandle_t, int n, const T* x, int incx, const T* y, int incy, T* result);
OB_TWIN_DOT(Sdot, float)
OB_TWIN_DOT(Ddot, double)
OB_TWIN_DOT(Cdotu, cuComplex)
OB_TWIN_DOT(Cdotc, cuComplex)
OB_TWIN_DOT(Zdotu, cuDoubleComplex)
OB_TWIN_DOT(Zdotc, cuDoubleComplex)
#undef OB_TWIN_DOT
#define OB_TWIN_SIZE(name, T, Real) \
  cublasStatus_t cublas##name(cublasHandle_t, int n, const T* x, int incx, Real* result);
OB_TWIN_SIZE(Snrm2, float, float)
OB_TWIN_SIZE(Dnrm2, double, double)
OB_TWIN_SIZE(Scnrm2, cuComplex, float)
OB_TWIN_SIZE(Dznrm2, cuDoubleComplex, double)
OB_TWIN_SIZE(Sasum, float, float)
OB_TWIN_SIZE(Dasum, double, double)
OB_TWIN_SIZE(Scasum, cuComplex, float)
OB_TWIN_SIZE(Dzasum, cuDoubleComplex, double)
#undef OB_TWIN_SIZE
#define OB_TWIN_RANK(name, T)                                                                                 \
  cublasStatus_t cublas##name(cublasHandle_t, int m, int n, const T* alpha, const T* x, int incx, const T* y, \
                              int incy, T* a, int lda);
OB_TWIN_RANK(Sger, float)
OB_TWIN_RANK(Dger, double)
OB_TWIN_RANK(Cgeru, cuComplex)
OB_TWIN_RANK(Cgerc, cuComplex)
OB_TWIN_RANK(Zgeru, cuDoubleComplex)
OB_TWIN_RANK(Zgerc, cuDoubleComplex)
#undef OB_TWIN_RANK

cublasStatus_t cublasHgemm(cublasHandle_t, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
                           const __half* alpha, const __half* a, int lda, const __half* b, int ldb, const __half* beta,
                           __half* c, int ldc);
cublasStatus_t cublasHgemmBatched(cublasHandle_t, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                                  int k, const __half* alpha, const __half* const a[], int lda, const __half* const b[],
                                  int ldb, const __half* beta, __half* const c[], int ldc, int count);
cublasStatus_t cublasHgemmStridedBatched(cublasHandle_t, cublasOperation_t transa, cublasOperation_t transb, int m,
                                         int n, int k, const __half* alpha, const __half* a, int lda, long long stridea,
                                         const __half* b, int ldb, long long strideb, const __half* beta, __half* c,
                                         int ldc, long long stridec, int count);
cublasStatus_t cublasGemmEx(cublasHandle_t, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
                            const void* alpha, const void* a, cudaDataType a_type, int lda, const void* b,
                            cudaDataType b_type, int ldb, const void* beta, void* c, cudaDataType c_type, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t algorithm);
cublasStatus_t cublasGemmBatchedEx(cublasHandle_t, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                                   int k, const void* alpha, const void* const a[], cudaDataType a_type, int lda,
                                   const void* const b[], cudaDataType b_type, int ldb, const void* beta,
                                   void* const c[], cudaDataType c_type, int ldc, int count,
                                   cublasComputeType_t compute, cublasGemmAlgo_t algorithm);
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t, cublasOperation_t transa, cublasOperation_t transb, int m,
                                          int n, int k, const void* alpha, const void* a, cudaDataType a_type, int lda,
                                          long long stridea, const void* b, cudaDataType b_type, int ldb,
                                          long long strideb, const void* beta, void* c, cudaDataType c_type, int ldc,
                                          long long stridec, int count, cublasComputeType_t compute,
                                          cublasGemmAlgo_t algorithm);
cublasStatus_t cublasDotEx(cublasHandle_t, int n, const void* x, cudaDataType x_type, int incx, const void* y,
                           cudaDataType y_type, int incy, void* result, cudaDataType result_type, cudaDataType compute);
cublasStatus_t cublasAxpyEx(cublasHandle_t, int n, const void* alpha, cudaDataType alpha_type, const void* x,
                            cudaDataType x_type, int incx, void* y, cudaDataType y_type, int incy,
                            cudaDataType compute);
cublasStatus_t cublasNrm2Ex(cublasHandle_t, int n, const void* x, cudaDataType x_type, int incx, void* result,
                            cudaDataType result_type, cudaDataType compute);
cublasStatus_t cublasScalEx(cublasHandle_t, int n, const void* alpha, cudaDataType alpha_type, void* x,
                            cudaDataType x_type, int incx, cudaDataType compute);

#ifdef __cplusplus
}
// As CUDA 11 and older name what to compute in.
inline cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
                                   int n, int k, const void* alpha, const void* a, cudaDataType a_type, int lda,
                                   const void* b, cudaDataType b_type, int ldb, const void* beta, void* c,
                                   cudaDataType c_type, int ldc, cudaDataType compute, cublasGemmAlgo_t algorithm) {
  const cublasComputeType_t in = compute == CUDA_R_16F   ? CUBLAS_COMPUTE_16F
                                 : compute == CUDA_R_64F ? CUBLAS_COMPUTE_64F
                                 : compute == CUDA_R_32I ? CUBLAS_COMPUTE_32I
                                                         : CUBLAS_COMPUTE_32F;
  return cublasGemmEx(handle, transa, transb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc, in,
                      algorithm);
}
#endif
#endif

// Handles of cuBLAS, and copies of vectors and matrices.
#include <cublas_v2.h>

#include "context.h"

namespace {

// What a program may ask about a status.
struct Name {
  cublasStatus_t status;
  const char* name;
  const char* text;
};
constexpr Name kNames[] = {
    {CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "success"},
    {CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized"},
    {CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
    {CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE", "an invalid value was used as an argument"},
    {CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH", "an absent device architectural feature is required"},
    {CUBLAS_STATUS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR", "an access to GPU memory space failed"},
    {CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED", "the function failed to launch on the GPU"},
    {CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed"},
    {CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED", "the functionality is not supported"},
    {CUBLAS_STATUS_LICENSE_ERROR, "CUBLAS_STATUS_LICENSE_ERROR", "an error with the license"},
};
const Name* find(cublasStatus_t status) {
  for (const Name& one : kNames) {
    if (one.status == status) return &one;
  }
  return nullptr;
}

cublasStatus_t copy(int rows, int columns, int bytes, const void* from, int lead, void* to, int other_lead) {
  if (rows < 0 || columns < 0 || bytes <= 0 || lead <= 0 || other_lead <= 0) return CUBLAS_STATUS_INVALID_VALUE;
  const size_t width = static_cast<size_t>(rows) * bytes;
  const cudaError_t error = cudaMemcpy2D(to, static_cast<size_t>(other_lead) * bytes, from,
                                         static_cast<size_t>(lead) * bytes, width, columns, cudaMemcpyDefault);
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}

template <class T>
cublasStatus_t set(cublasHandle_t handle, T cublasContext::* setting, T value) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->*setting = value;
  return CUBLAS_STATUS_SUCCESS;
}
template <class T>
cublasStatus_t get(cublasHandle_t handle, T cublasContext::* setting, T* value) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (value == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *value = handle->*setting;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

// A thread's own, as PyTorch's are: one for all its extensions and for Python, and never destroyed, since threads may
// end after the library.
extern "C" cublasHandle_t ob_twin_blas_handle_of_thread(cudaStream_t stream) {
  thread_local cublasContext& made = *new cublasContext;
  made.stream = stream;
  return &made;
}

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int* version) {
  if (version == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  return set(handle, &cublasContext::stream, stream);
}
cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  return get(handle, &cublasContext::stream, stream);
}
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  return set(handle, &cublasContext::mode, mode);
}
cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
  return get(handle, &cublasContext::mode, mode);
}
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  return set(handle, &cublasContext::math, mode);
}
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  return get(handle, &cublasContext::math, mode);
}

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t, cublasAtomicsMode_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void*, size_t) { return CUBLAS_STATUS_SUCCESS; }

const char* cublasGetStatusString(cublasStatus_t status) {
  const Name* const found = find(status);
  return found == nullptr ? "unknown status" : found->text;
}
const char* cublasGetStatusName(cublasStatus_t status) {
  const Name* const found = find(status);
  return found == nullptr ? "unknown status" : found->name;
}

// A vector whose elements lie apart is a matrix of one row.
cublasStatus_t cublasSetVector(int n, int bytes, const void* x, int incx, void* y, int incy) {
  return copy(1, n, bytes, x, incx, y, incy);
}
cublasStatus_t cublasGetVector(int n, int bytes, const void* x, int incx, void* y, int incy) {
  return copy(1, n, bytes, x, incx, y, incy);
}
cublasStatus_t cublasSetMatrix(int rows, int cols, int bytes, const void* a, int lda, void* b, int ldb) {
  return copy(rows, cols, bytes, a, lda, b, ldb);
}
cublasStatus_t cublasGetMatrix(int rows, int cols, int bytes, const void* a, int lda, void* b, int ldb) {
  return copy(rows, cols, bytes, a, lda, b, ldb);
}

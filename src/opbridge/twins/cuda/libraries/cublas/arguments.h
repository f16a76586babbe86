// Arguments that the functions of cuBLAS share: vectors, and scalars on the host or the device.
#ifndef OPBRIDGE_TWIN_LIBRARIES_CUBLAS_ARGUMENTS_H
#define OPBRIDGE_TWIN_LIBRARIES_CUBLAS_ARGUMENTS_H

#include <cublas_v2.h>

#include <initializer_list>

#include "context.h"
#include "dense_algebra.h"
#include "library_call.h"

namespace opbridge_twin::blas {

constexpr cublasStatus_t kDone = CUBLAS_STATUS_SUCCESS, kInvalid = CUBLAS_STATUS_INVALID_VALUE,
                         kFailed = CUBLAS_STATUS_EXECUTION_FAILED, kNot = CUBLAS_STATUS_NOT_SUPPORTED;

// A vector in a program's memory; with a negative step it begins at its other end, as in BLAS.
template <class T>
struct Vector {
  T* data;
  int n, step;
  T& operator()(int i) const { return data[static_cast<ptrdiff_t>(step > 0 ? i : i - (n - 1)) * step]; }
  size_t span() const { return n <= 0 ? 0 : static_cast<size_t>(n - 1) * (step > 0 ? step : -step) + 1; }

  bool reads(const LibraryCall& call) const { return call.reads(data, span()); }
  bool writes(const LibraryCall& call) const { return call.writes(data, span()); }
  bool updates(const LibraryCall& call) const { return reads(call) && writes(call); }
};
template <class T>
Vector<Plain<T>> vector(T* data, int n, int step) {
  return {plain(data), n, step};
}
template <class T>
Vector<const Plain<T>> vector(const T* data, int n, int step) {
  return {plain(data), n, step};
}

inline int rows_of(cublasOperation_t op, int rows, int columns) { return op == CUBLAS_OP_N ? rows : columns; }

// Checks what alpha and beta point to, wherever the handle says that scalars are.
template <class T>
cublasStatus_t scalars(const LibraryCall& call, cublasHandle_t handle, std::initializer_list<const T*> all) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  for (const T* scalar : all) {
    if (scalar == nullptr) return kInvalid;
    if (handle->mode != CUBLAS_POINTER_MODE_HOST && !call.reads(scalar, 1)) return kFailed;
  }
  return kDone;
}

}  // namespace opbridge_twin::blas
#endif

// cuSOLVER: LU and Cholesky of dense matrices, and systems of equations by them.
//
// Reference: Golub and Van Loan, Matrix Computations, 4th edition, algorithms 3.4.1 and 4.2.1.
#include <cusolverDn.h>

#include <algorithm>

#include "dense_algebra.h"
#include "library_call.h"

// Holds nothing: there is one device, and no workspace.
struct cusolverDnContext {};

namespace {

using namespace opbridge_twin::blas;
using opbridge_twin::LibraryCall;

constexpr cusolverStatus_t kDone = CUSOLVER_STATUS_SUCCESS, kInvalid = CUSOLVER_STATUS_INVALID_VALUE,
                           kFailed = CUSOLVER_STATUS_EXECUTION_FAILED;

cusolverStatus_t buffer(cusolverDnHandle_t handle, bool is_bad, int* elements) {
  if (handle == nullptr) return CUSOLVER_STATUS_NOT_INITIALIZED;
  if (is_bad || elements == nullptr) return kInvalid;
  *elements = 1;
  return kDone;
}

template <class T>
cusolverStatus_t getrf(const LibraryCall& call, int m, int n, T* a, int lda, int* pivots, int* info) {
  if (bad(m, n, lda)) return kInvalid;
  const size_t count = span(m, n, lda), steps = static_cast<size_t>(std::min(m, n));
  const bool there = call.reads(a, count) && call.writes(a, count) && call.writes(info, 1) &&
                     (pivots == nullptr || call.writes(pivots, steps));
  if (!there) return kFailed;
  *info = factorize(matrix(a, lda), m, n, pivots);
  return kDone;
}

template <class T>
cusolverStatus_t getrs(const LibraryCall& call, cublasOperation_t op, int n, int columns, const T* a, int lda,
                       const int* pivots, T* b, int ldb, int* info) {
  if (bad(n, n, lda) || bad(n, columns, ldb)) return kInvalid;
  const size_t count = span(n, columns, ldb);
  const bool there = call.reads(a, span(n, n, lda)) && call.reads(b, count) && call.writes(b, count) &&
                     (pivots == nullptr || call.reads(pivots, static_cast<size_t>(n))) && call.writes(info, 1);
  if (!there) return kFailed;
  *info = 0;
  for (int j = 0; j < columns; ++j) solve_factorized(matrix(a, lda), n, pivots, op, &matrix(b, ldb)(0, j));
  return kDone;
}

// Of the triangle that is written; the other is not looked at.
template <class T>
cusolverStatus_t potrf(const LibraryCall& call, cublasFillMode_t fill, int n, T* a, int lda, int* info) {
  if (bad(n, n, lda)) return kInvalid;
  const size_t count = span(n, n, lda);
  if (!call.reads(a, count) || !call.writes(a, count) || !call.writes(info, 1)) return kFailed;
  const bool lower = fill == CUBLAS_FILL_MODE_LOWER;
  const Matrix<Plain<T>> whole = matrix(a, lda);
  // As the lower one in either case: the upper is its conjugate, turned.
  const auto get = [&](int i, int j) { return lower ? whole(i, j) : conjugate(whole(j, i)); };
  const auto put = [&](int i, int j, Plain<T> value) {
    (lower ? whole(i, j) : whole(j, i)) = lower ? value : conjugate(value);
  };
  *info = 0;
  for (int j = 0; j < n && *info == 0; ++j) {
    auto pivot = std::real(get(j, j));
    for (int k = 0; k < j; ++k) pivot -= std::norm(get(j, k));
    if (!(pivot > 0)) {
      *info = j + 1;
      break;
    }
    const auto root = std::sqrt(pivot);
    put(j, j, Plain<T>(root));
    for (int i = j + 1; i < n; ++i) {
      Plain<T> rest = get(i, j);
      for (int k = 0; k < j; ++k) rest -= get(i, k) * conjugate(get(j, k));
      put(i, j, rest / root);
    }
  }
  return kDone;
}

template <class T>
cusolverStatus_t potrs(const LibraryCall& call, cublasFillMode_t fill, int n, int columns, const T* a, int lda, T* b,
                       int ldb, int* info) {
  if (bad(n, n, lda) || bad(n, columns, ldb)) return kInvalid;
  const size_t count = span(n, columns, ldb);
  const bool there =
      call.reads(a, span(n, n, lda)) && call.reads(b, count) && call.writes(b, count) && call.writes(info, 1);
  if (!there) return kFailed;
  *info = 0;
  const Packed<Plain<T>> one = triangle(matrix(a, lda), fill, CUBLAS_DIAG_NON_UNIT, n);
  const Packed<Plain<T>> other = packed(Matrix<const Plain<T>>{one.data.data(), n}, CUBLAS_OP_C, n, n);
  const bool lower = fill == CUBLAS_FILL_MODE_LOWER;
  for (int j = 0; j < columns; ++j) {
    const auto at = [&](int i) -> Plain<T>& { return matrix(b, ldb)(i, j); };
    solve(lower ? one : other, true, at);
    solve(lower ? other : one, false, at);
  }
  return kDone;
}

}  // namespace

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* handle) {
  if (handle == nullptr) return kInvalid;
  *handle = new cusolverDnContext;
  return kDone;
}
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle) {
  delete handle;
  return kDone;
}
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t) {
  return handle == nullptr ? CUSOLVER_STATUS_NOT_INITIALIZED : kDone;
}

#define OB_TWIN_SOLVER(letter, T)                                                                                     \
  cusolverStatus_t cusolverDn##letter##getrf_bufferSize(cusolverDnHandle_t handle, int m, int n, T*, int lda,         \
                                                        int* elements) {                                              \
    return buffer(handle, bad(m, n, lda), elements);                                                                  \
  }                                                                                                                   \
  cusolverStatus_t cusolverDn##letter##getrf(cusolverDnHandle_t handle, int m, int n, T* a, int lda, T*, int* pivots, \
                                             int* info) {                                                             \
    OB_TWIN_LIBRARY_CALL;                                                                                             \
    return handle == nullptr ? CUSOLVER_STATUS_NOT_INITIALIZED : getrf(call, m, n, a, lda, pivots, info);             \
  }                                                                                                                   \
  cusolverStatus_t cusolverDn##letter##getrs(cusolverDnHandle_t handle, cublasOperation_t op, int n, int columns,     \
                                             const T* a, int lda, const int* pivots, T* b, int ldb, int* info) {      \
    OB_TWIN_LIBRARY_CALL;                                                                                             \
    return handle == nullptr ? CUSOLVER_STATUS_NOT_INITIALIZED                                                        \
                             : getrs(call, op, n, columns, a, lda, pivots, b, ldb, info);                             \
  }                                                                                                                   \
  cusolverStatus_t cusolverDn##letter##potrf_bufferSize(cusolverDnHandle_t handle, cublasFillMode_t, int n, T*,       \
                                                        int lda, int* elements) {                                     \
    return buffer(handle, bad(n, n, lda), elements);                                                                  \
  }                                                                                                                   \
  cusolverStatus_t cusolverDn##letter##potrf(cusolverDnHandle_t handle, cublasFillMode_t fill, int n, T* a, int lda,  \
                                             T*, int, int* info) {                                                    \
    OB_TWIN_LIBRARY_CALL;                                                                                             \
    return handle == nullptr ? CUSOLVER_STATUS_NOT_INITIALIZED : potrf(call, fill, n, a, lda, info);                  \
  }                                                                                                                   \
  cusolverStatus_t cusolverDn##letter##potrs(cusolverDnHandle_t handle, cublasFillMode_t fill, int n, int columns,    \
                                             const T* a, int lda, T* b, int ldb, int* info) {                         \
    OB_TWIN_LIBRARY_CALL;                                                                                             \
    return handle == nullptr ? CUSOLVER_STATUS_NOT_INITIALIZED : potrs(call, fill, n, columns, a, lda, b, ldb, info); \
  }
OB_TWIN_SOLVER(S, float)
OB_TWIN_SOLVER(D, double)
OB_TWIN_SOLVER(C, cuComplex)
OB_TWIN_SOLVER(Z, cuDoubleComplex)

// cuBLAS's factorizations of many small matrices, and systems of equations by them, for the four types of BLAS.
#include "arguments.h"

namespace {

using namespace opbridge_twin::blas;
using opbridge_twin::LibraryCall;

template <class T>
bool updates(const LibraryCall& call, T* data, size_t count) {
  return call.reads(data, count) && call.writes(data, count);
}

// The pivots of one matrix of a batch; null where there are none.
template <class Pivots>
Pivots* pivots_of(Pivots* all, int n, int i) {
  return all == nullptr ? nullptr : all + static_cast<size_t>(n) * i;
}

template <class T>
cublasStatus_t getrf(const LibraryCall& call, int n, T* const a[], int lda, int* pivots, int* info, int count) {
  if (bad(n, n, lda) || count < 0) return kInvalid;
  if (!call.reads(a, count) || !call.writes(info, count)) return kFailed;
  if (pivots != nullptr && !call.writes(pivots, static_cast<size_t>(n) * count)) return kFailed;
  for (int i = 0; i < count; ++i) {
    if (!updates(call, a[i], span(n, n, lda))) return kFailed;
    info[i] = factorize(matrix(a[i], lda), n, n, pivots_of(pivots, n, i));
  }
  return kDone;
}

// The columns of the inverse are solutions of the columns of one.
template <class T>
int invert(Matrix<const T> lu, int n, const int* pivots, Matrix<T> inverse) {
  for (int k = 0; k < n; ++k) {
    if (lu(k, k) == T(0)) return k + 1;
  }
  for (int j = 0; j < n; ++j) {
    T* const column = &inverse(0, j);
    for (int k = 0; k < n; ++k) column[k] = T(k == j ? 1 : 0);
    solve_factorized(lu, n, pivots, CUBLAS_OP_N, column);
  }
  return 0;
}

template <class T>
cublasStatus_t getri(const LibraryCall& call, int n, const T* const a[], int lda, const int* pivots, T* const c[],
                     int ldc, int* info, int count) {
  if (bad(n, n, lda) || bad(n, n, ldc) || count < 0) return kInvalid;
  if (!call.reads(a, count) || !call.reads(c, count) || !call.writes(info, count)) return kFailed;
  for (int i = 0; i < count; ++i) {
    if (!call.reads(a[i], span(n, n, lda)) || !call.writes(c[i], span(n, n, ldc))) return kFailed;
    info[i] = invert(matrix(a[i], lda), n, pivots_of(pivots, n, i), matrix(c[i], ldc));
  }
  return kDone;
}

template <class T>
cublasStatus_t getrs(const LibraryCall& call, cublasOperation_t op, int n, int columns, const T* const a[], int lda,
                     const int* pivots, T* const b[], int ldb, int* info, int count) {
  if (bad(n, n, lda) || bad(n, columns, ldb) || count < 0 || info == nullptr) return kInvalid;
  if (!call.reads(a, count) || !call.reads(b, count)) return kFailed;
  for (int i = 0; i < count; ++i) {
    if (!call.reads(a[i], span(n, n, lda)) || !updates(call, b[i], span(n, columns, ldb))) return kFailed;
    for (int j = 0; j < columns; ++j) {
      solve_factorized(matrix(a[i], lda), n, pivots_of(pivots, n, i), op, &matrix(b[i], ldb)(0, j));
    }
  }
  *info = 0;
  return kDone;
}

template <class T>
cublasStatus_t gels(const LibraryCall& call, cublasOperation_t op, int m, int n, int columns, T* const a[], int lda,
                    T* const c[], int ldc, int* info, int* device_info, int count) {
  if (op != CUBLAS_OP_N || m < n) return kNot;
  if (bad(m, n, lda) || bad(m, columns, ldc) || count < 0 || info == nullptr) return kInvalid;
  if (!call.reads(a, count) || !call.reads(c, count)) return kFailed;
  if (device_info != nullptr && !call.writes(device_info, count)) return kFailed;
  for (int i = 0; i < count; ++i) {
    if (!updates(call, a[i], span(m, n, lda)) || !updates(call, c[i], span(m, columns, ldc))) return kFailed;
    const bool solved = least_squares(matrix(a[i], lda), m, n, matrix(c[i], ldc), columns);
    if (device_info != nullptr) device_info[i] = solved ? 0 : 1;
  }
  *info = 0;
  return kDone;
}

}  // namespace

#define OB_TWIN_SOLVERS(L, T)                                                                                          \
  cublasStatus_t cublas##L##getrfBatched(cublasHandle_t, int n, T* const a[], int lda, int* pivots, int* info,         \
                                         int count) {                                                                  \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    return getrf(call, n, a, lda, pivots, info, count);                                                                \
  }                                                                                                                    \
  cublasStatus_t cublas##L##getriBatched(cublasHandle_t, int n, const T* const a[], int lda, const int* pivots,        \
                                         T* const c[], int ldc, int* info, int count) {                                \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    return getri(call, n, a, lda, pivots, c, ldc, info, count);                                                        \
  }                                                                                                                    \
  cublasStatus_t cublas##L##getrsBatched(cublasHandle_t, cublasOperation_t trans, int n, int nrhs, const T* const a[], \
                                         int lda, const int* pivots, T* const b[], int ldb, int* info, int count) {    \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    return getrs(call, trans, n, nrhs, a, lda, pivots, b, ldb, info, count);                                           \
  }                                                                                                                    \
  cublasStatus_t cublas##L##gelsBatched(cublasHandle_t, cublasOperation_t trans, int m, int n, int nrhs, T* const a[], \
                                        int lda, T* const c[], int ldc, int* info, int* dev_info, int count) {         \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    return gels(call, trans, m, n, nrhs, a, lda, c, ldc, info, dev_info, count);                                       \
  }
OB_TWIN_SOLVERS(S, float)
OB_TWIN_SOLVERS(D, double)
OB_TWIN_SOLVERS(C, cuComplex)
OB_TWIN_SOLVERS(Z, cuDoubleComplex)

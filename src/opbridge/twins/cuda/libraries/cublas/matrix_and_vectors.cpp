// cuBLAS's functions of a matrix and vectors (level 2) for the four types of BLAS.
#include "arguments.h"

namespace {

using namespace opbridge_twin::blas;
using opbridge_twin::LibraryCall;

template <class T>
cublasStatus_t gemv(const LibraryCall& call, cublasHandle_t handle, cublasOperation_t op, int m, int n, const T* alpha,
                    Matrix<const T> a, Vector<const T> x, const T* beta, Vector<T> y) {
  if (const cublasStatus_t status = scalars<T>(call, handle, {alpha, beta}); status != kDone) return status;
  if (bad(m, n, a.lead) || x.step == 0 || y.step == 0) return kInvalid;
  const T factor = *beta;
  const bool there =
      call.reads(a.data, span(m, n, a.lead)) && x.reads(call) && (factor == T(0) || y.reads(call)) && y.writes(call);
  if (!there) return kFailed;
  for (int i = 0; i < y.n; ++i) {
    T total = 0;
    for (int j = 0; j < x.n; ++j) total += applied(a, op, i, j) * x(j);
    total *= *alpha;
    y(i) = factor == T(0) ? total : total + factor * y(i);
  }
  return kDone;
}

template <class T>
cublasStatus_t trsv(const LibraryCall& call, cublasFillMode_t fill, cublasOperation_t op, cublasDiagType_t diagonal,
                    Matrix<const T> a, Vector<T> x) {
  if (bad(x.n, x.n, a.lead) || x.step == 0) return kInvalid;
  if (!call.reads(a.data, span(x.n, x.n, a.lead)) || !x.updates(call)) return kFailed;
  solve(triangle(a, fill, op, diagonal, x.n), is_lower(fill, op), x);
  return kDone;
}

// Adds alpha x y^T, or y's conjugate.
template <bool conjugates, class T>
cublasStatus_t ger(const LibraryCall& call, cublasHandle_t handle, const T* alpha, Vector<const T> x, Vector<const T> y,
                   Matrix<T> a) {
  if (const cublasStatus_t status = scalars<T>(call, handle, {alpha}); status != kDone) return status;
  if (bad(x.n, y.n, a.lead)) return kInvalid;
  const size_t count = span(x.n, y.n, a.lead);
  if (!x.reads(call) || !y.reads(call) || !call.reads(a.data, count) || !call.writes(a.data, count)) return kFailed;
  for (int j = 0; j < y.n; ++j) {
    const T factor = *alpha * (conjugates ? conjugate(y(j)) : y(j));
    for (int i = 0; i < x.n; ++i) a(i, j) += x(i) * factor;
  }
  return kDone;
}

}  // namespace

#define OB_TWIN_MATRIX_AND_VECTORS(L, T)                                                                        \
  cublasStatus_t cublas##L##gemv(cublasHandle_t handle, cublasOperation_t trans, int m, int n, const T* alpha,  \
                                 const T* a, int lda, const T* x, int incx, const T* beta, T* y, int incy) {    \
    OB_TWIN_LIBRARY_CALL;                                                                                       \
    return gemv(call, handle, trans, m, n, plain(alpha), matrix(a, lda), vector(x, rows_of(trans, n, m), incx), \
                plain(beta), vector(y, rows_of(trans, m, n), incy));                                            \
  }                                                                                                             \
  cublasStatus_t cublas##L##trsv(cublasHandle_t, cublasFillMode_t fill, cublasOperation_t trans,                \
                                 cublasDiagType_t diag, int n, const T* a, int lda, T* x, int incx) {           \
    OB_TWIN_LIBRARY_CALL;                                                                                       \
    return trsv(call, fill, trans, diag, matrix(a, lda), vector(x, n, incx));                                   \
  }
OB_TWIN_MATRIX_AND_VECTORS(S, float)
OB_TWIN_MATRIX_AND_VECTORS(D, double)
OB_TWIN_MATRIX_AND_VECTORS(C, cuComplex)
OB_TWIN_MATRIX_AND_VECTORS(Z, cuDoubleComplex)

#define OB_TWIN_RANK(name, T, conjugates)                                                                            \
  cublasStatus_t cublas##name(cublasHandle_t handle, int m, int n, const T* alpha, const T* x, int incx, const T* y, \
                              int incy, T* a, int lda) {                                                             \
    OB_TWIN_LIBRARY_CALL;                                                                                            \
    return ger<conjugates>(call, handle, plain(alpha), vector(x, m, incx), vector(y, n, incy), matrix(a, lda));      \
  }
OB_TWIN_RANK(Sger, float, false)
OB_TWIN_RANK(Dger, double, false)
OB_TWIN_RANK(Cgeru, cuComplex, false)
OB_TWIN_RANK(Cgerc, cuComplex, true)
OB_TWIN_RANK(Zgeru, cuDoubleComplex, false)
OB_TWIN_RANK(Zgerc, cuDoubleComplex, true)

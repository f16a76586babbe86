// cuBLAS's functions of matrices (level 3) for the four types of BLAS.
#include "arguments.h"

namespace {

using namespace opbridge_twin::blas;
using opbridge_twin::LibraryCall;

// The sizes and factors that all products of one call share.
template <class T>
struct Product {
  cublasOperation_t op_a, op_b;
  int m, n, k, lda, ldb, ldc;
  T alpha, beta;

  bool is_bad() const {
    return m < 0 || n < 0 || k < 0 || bad(rows_of(op_a, m, k), 0, lda) || bad(rows_of(op_b, k, n), 0, ldb) ||
           bad(m, 0, ldc);
  }
  cublasStatus_t run(const LibraryCall& call, const T* a, const T* b, T* c) const {
    const bool reads = alpha != T(0) && k > 0;
    const bool there = (!reads || (call.reads(a, span(rows_of(op_a, m, k), rows_of(op_a, k, m), lda)) &&
                                   call.reads(b, span(rows_of(op_b, k, n), rows_of(op_b, n, k), ldb)))) &&
                       (beta == T(0) || call.reads(c, span(m, n, ldc))) && call.writes(c, span(m, n, ldc));
    if (!there) return kFailed;
    const Packed<T> x = reads ? packed(Matrix<const T>{a, lda}, op_a, m, k) : Packed<T>(m, 0);
    const Packed<T> y = reads ? packed(Matrix<const T>{b, ldb}, op_b, k, n) : Packed<T>(0, n);
    product(x, y, alpha, beta, Matrix<T>{c, ldc});
    return kDone;
  }
};

// Multiplies `count` times what `next` returns as {a, b, c}; `are_there` checks what it reads to find them.
template <class T, class AreThere, class Next>
cublasStatus_t gemm(const LibraryCall& call, cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                    int m, int n, int k, const T* alpha, int lda, int ldb, const T* beta, int ldc, int count,
                    AreThere are_there, Next next) {
  if (const cublasStatus_t status = scalars<T>(call, handle, {alpha, beta}); status != kDone) return status;
  const Product<T> one{op_a, op_b, m, n, k, lda, ldb, ldc, *alpha, *beta};
  if (one.is_bad() || count < 0) return kInvalid;
  if (!are_there()) return kFailed;
  cublasStatus_t status = kDone;
  for (int i = 0; i < count && status == kDone; ++i) {
    const auto [a, b, c] = next(i);
    status = one.run(call, plain(a), plain(b), plain(c));
  }
  return status;
}

// Where the operands of one product lie.
template <class T>
struct Operands {
  const T* a;
  const T* b;
  T* c;
};

// The whole of a symmetric matrix of which one half is written.
template <class T>
Packed<T> symmetric(Matrix<const T> a, cublasFillMode_t fill, int n) {
  Packed<T> made(n, n);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) {
      const bool inside = fill == CUBLAS_FILL_MODE_LOWER ? i >= j : i <= j;
      made(i, j) = inside ? a(i, j) : a(j, i);
    }
  }
  return made;
}

template <class T>
cublasStatus_t symm(const LibraryCall& call, cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill, int m,
                    int n, const T* alpha, Matrix<const T> a, Matrix<const T> b, const T* beta, Matrix<T> c) {
  if (const cublasStatus_t status = scalars<T>(call, handle, {alpha, beta}); status != kDone) return status;
  const int order = side == CUBLAS_SIDE_LEFT ? m : n;
  if (bad(order, order, a.lead) || bad(m, n, b.lead) || bad(m, n, c.lead)) return kInvalid;
  const size_t count = span(m, n, c.lead);
  const bool there = call.reads(a.data, span(order, order, a.lead)) && call.reads(b.data, span(m, n, b.lead)) &&
                     (*beta == T(0) || call.reads(c.data, count)) && call.writes(c.data, count);
  if (!there) return kFailed;
  const Packed<T> whole = symmetric(a, fill, order), other = packed(b, CUBLAS_OP_N, m, n);
  side == CUBLAS_SIDE_LEFT ? product(whole, other, *alpha, *beta, c) : product(other, whole, *alpha, *beta, c);
  return kDone;
}

template <class T>
cublasStatus_t syrk(const LibraryCall& call, cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t op, int n,
                    int k, const T* alpha, Matrix<const T> a, const T* beta, Matrix<T> c) {
  if (const cublasStatus_t status = scalars<T>(call, handle, {alpha, beta}); status != kDone) return status;
  if (bad(rows_of(op, n, k), 0, a.lead) || n < 0 || k < 0 || bad(n, n, c.lead)) return kInvalid;
  const size_t count = span(n, n, c.lead);
  const bool there = call.reads(a.data, span(rows_of(op, n, k), rows_of(op, k, n), a.lead)) &&
                     (*beta == T(0) || call.reads(c.data, count)) && call.writes(c.data, count);
  if (!there) return kFailed;
  const bool turned = op != CUBLAS_OP_N;
  const auto left = packed(a, turned ? CUBLAS_OP_T : CUBLAS_OP_N, n, k);
  const auto right = packed(a, turned ? CUBLAS_OP_N : CUBLAS_OP_T, k, n);
  product(
      left, right, *alpha, *beta, [&](int i, int j) { return c(i, j); },
      [&](int i, int j, T value) {
        if (fill == CUBLAS_FILL_MODE_LOWER ? i >= j : i <= j) c(i, j) = value;
      });
  return kDone;
}

template <class T>
cublasStatus_t trsm(const LibraryCall& call, cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill,
                    cublasOperation_t op, cublasDiagType_t diagonal, int m, int n, const T* alpha, Matrix<const T> a,
                    Matrix<T> b) {
  if (const cublasStatus_t status = scalars<T>(call, handle, {alpha}); status != kDone) return status;
  const bool left = side == CUBLAS_SIDE_LEFT;
  const int order = left ? m : n;
  if (bad(order, order, a.lead) || bad(m, n, b.lead)) return kInvalid;
  const size_t count = span(m, n, b.lead);
  const bool there =
      call.reads(a.data, span(order, order, a.lead)) && call.reads(b.data, count) && call.writes(b.data, count);
  if (!there) return kFailed;
  const Packed<T> whole = triangle(a, fill, op, diagonal, order);
  // x op(a) = b is op(a)^T x^T = b^T.
  const Packed<T> turned = packed(Matrix<const T>{whole.data.data(), std::max(1, order)}, CUBLAS_OP_T, order, order);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) b(i, j) *= *alpha;
  }
  const bool lower = is_lower(fill, op);
  for (int one = 0; one < (left ? n : m); ++one) {
    left ? solve(whole, lower, [&](int i) -> T& { return b(i, one); })
         : solve(turned, !lower, [&](int i) -> T& { return b(one, i); });
  }
  return kDone;
}

// A matrix with a factor of 0 is not read, and may be missing.
template <class T>
cublasStatus_t geam(const LibraryCall& call, cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                    int m, int n, const T* alpha, Matrix<const T> a, const T* beta, Matrix<const T> b, Matrix<T> c) {
  if (const cublasStatus_t status = scalars<T>(call, handle, {alpha, beta}); status != kDone) return status;
  const T x = *alpha, y = *beta, zero = 0;
  const bool bad_a = x != zero && bad(rows_of(op_a, m, n), 0, a.lead);
  if (bad_a || (y != zero && bad(rows_of(op_b, m, n), 0, b.lead)) || bad(m, n, c.lead)) return kInvalid;
  const bool there = (x == zero || call.reads(a.data, span(rows_of(op_a, m, n), rows_of(op_a, n, m), a.lead))) &&
                     (y == zero || call.reads(b.data, span(rows_of(op_b, m, n), rows_of(op_b, n, m), b.lead))) &&
                     call.writes(c.data, span(m, n, c.lead));
  if (!there) return kFailed;
  Packed<T> sum(m, n);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      if (x != zero) sum(i, j) = x * applied(a, op_a, i, j);
      if (y != zero) sum(i, j) += y * applied(b, op_b, i, j);
    }
  }
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) c(i, j) = sum(i, j);
  }
  return kDone;
}

template <class T>
cublasStatus_t dgmm(const LibraryCall& call, cublasSideMode_t side, int m, int n, Matrix<const T> a, Vector<const T> x,
                    Matrix<T> c) {
  if (bad(m, n, a.lead) || bad(m, n, c.lead)) return kInvalid;
  if (!call.reads(a.data, span(m, n, a.lead)) || !x.reads(call)) return kFailed;
  if (!call.writes(c.data, span(m, n, c.lead))) return kFailed;
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) c(i, j) = a(i, j) * x(side == CUBLAS_SIDE_LEFT ? i : j);
  }
  return kDone;
}

}  // namespace

#define OB_TWIN_MATRICES(L, T)                                                                                         \
  cublasStatus_t cublas##L##gemm(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,     \
                                 int n, int k, const T* alpha, const T* a, int lda, const T* b, int ldb,               \
                                 const T* beta, T* c, int ldc) {                                                       \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    return gemm(                                                                                                       \
        call, handle, transa, transb, m, n, k, plain(alpha), lda, ldb, plain(beta), ldc, 1, [] { return true; },       \
        [=](int) { return Operands<T>{a, b, c}; });                                                                    \
  }                                                                                                                    \
  cublasStatus_t cublas##L##gemmBatched(                                                                               \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const T* alpha,  \
      const T* const a[], int lda, const T* const b[], int ldb, const T* beta, T* const c[], int ldc, int count) {     \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    return gemm(                                                                                                       \
        call, handle, transa, transb, m, n, k, plain(alpha), lda, ldb, plain(beta), ldc, count,                        \
        [&] { return call.reads(a, count) && call.reads(b, count) && call.reads(c, count); },                          \
        [=](int i) { return Operands<T>{a[i], b[i], c[i]}; });                                                         \
  }                                                                                                                    \
  cublasStatus_t cublas##L##gemmStridedBatched(                                                                        \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const T* alpha,  \
      const T* a, int lda, long long stridea, const T* b, int ldb, long long strideb, const T* beta, T* c, int ldc,    \
      long long stridec, int count) {                                                                                  \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    return gemm(                                                                                                       \
        call, handle, transa, transb, m, n, k, plain(alpha), lda, ldb, plain(beta), ldc, count, [] { return true; },   \
        [=](int i) { return Operands<T>{a + i * stridea, b + i * strideb, c + i * stridec}; });                        \
  }                                                                                                                    \
  cublasStatus_t cublas##L##symm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill, int m, int n,    \
                                 const T* alpha, const T* a, int lda, const T* b, int ldb, const T* beta, T* c,        \
                                 int ldc) {                                                                            \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    return symm(call, handle, side, fill, m, n, plain(alpha), matrix(a, lda), matrix(b, ldb), plain(beta),             \
                matrix(c, ldc));                                                                                       \
  }                                                                                                                    \
  cublasStatus_t cublas##L##syrk(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t trans, int n, int k,  \
                                 const T* alpha, const T* a, int lda, const T* beta, T* c, int ldc) {                  \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    return syrk(call, handle, fill, trans, n, k, plain(alpha), matrix(a, lda), plain(beta), matrix(c, ldc));           \
  }                                                                                                                    \
  cublasStatus_t cublas##L##trsm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill,                  \
                                 cublasOperation_t trans, cublasDiagType_t diag, int m, int n, const T* alpha,         \
                                 const T* a, int lda, T* b, int ldb) {                                                 \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    return trsm(call, handle, side, fill, trans, diag, m, n, plain(alpha), matrix(a, lda), matrix(b, ldb));            \
  }                                                                                                                    \
  cublasStatus_t cublas##L##geam(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,     \
                                 int n, const T* alpha, const T* a, int lda, const T* beta, const T* b, int ldb, T* c, \
                                 int ldc) {                                                                            \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    return geam(call, handle, transa, transb, m, n, plain(alpha), matrix(a, lda), plain(beta), matrix(b, ldb),         \
                matrix(c, ldc));                                                                                       \
  }                                                                                                                    \
  cublasStatus_t cublas##L##dgmm(cublasHandle_t, cublasSideMode_t side, int m, int n, const T* a, int lda, const T* x, \
                                 int incx, T* c, int ldc) {                                                            \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    return dgmm(call, side, m, n, matrix(a, lda), vector(x, side == CUBLAS_SIDE_LEFT ? m : n, incx), matrix(c, ldc));  \
  }
OB_TWIN_MATRICES(S, float)
OB_TWIN_MATRICES(D, double)
OB_TWIN_MATRICES(C, cuComplex)
OB_TWIN_MATRICES(Z, cuDoubleComplex)

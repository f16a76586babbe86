// cuBLAS for the four types of BLAS: what the arguments mean, and whose memory they are.
#include <cublas_v2.h>

#include <type_traits>

#include "context.h"
#include "dense_algebra.h"
#include "library_call.h"

namespace {

using namespace opbridge_twin::blas;
using opbridge_twin::LibraryCall;

constexpr cublasStatus_t kDone = CUBLAS_STATUS_SUCCESS, kInvalid = CUBLAS_STATUS_INVALID_VALUE,
                         kFailed = CUBLAS_STATUS_EXECUTION_FAILED;

// cuComplex and C++'s own have one layout.
template <class T>
using Plain = std::conditional_t<std::is_same_v<std::remove_const_t<T>, cuComplex>, std::complex<float>,
                                 std::conditional_t<std::is_same_v<std::remove_const_t<T>, cuDoubleComplex>,
                                                    std::complex<double>, std::remove_const_t<T>>>;
template <class T>
Plain<T>* plain(T* p) {
  return reinterpret_cast<Plain<T>*>(p);
}
template <class T>
const Plain<T>* plain(const T* p) {
  return reinterpret_cast<const Plain<T>*>(p);
}

// A vector; with a negative step it begins at its other end.
template <class T>
struct Vector {
  T* data;
  int n, step;
  T& operator()(int i) const { return data[static_cast<ptrdiff_t>(step > 0 ? i : i - (n - 1)) * step]; }
  size_t span() const { return n <= 0 ? 0 : static_cast<size_t>(n - 1) * (step > 0 ? step : -step) + 1; }
};

size_t span(int rows, int columns, int lead) {
  return rows <= 0 || columns <= 0 ? 0 : static_cast<size_t>(columns - 1) * lead + rows;
}
bool bad(int rows, int columns, int lead) { return rows < 0 || columns < 0 || lead < (rows > 1 ? rows : 1); }
int rows_of(cublasOperation_t op, int rows, int columns) { return op == CUBLAS_OP_N ? rows : columns; }

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

template <class T>
double size_of(T value) {
  return std::abs(value);
}
// As BLAS measures complex numbers where it only compares them.
template <class T>
double size_of(std::complex<T> value) {
  return std::abs(static_cast<double>(value.real())) + std::abs(static_cast<double>(value.imag()));
}

template <class T>
cublasStatus_t extreme(const LibraryCall& call, Vector<const T> x, int* result, bool largest) {
  if (result == nullptr) return kInvalid;
  int best = 0;
  if (x.n > 0 && x.step > 0) {
    if (!call.reads(x.data, x.span())) return kFailed;
    for (int i = 1; i < x.n; ++i) {
      if (largest ? size_of(x(i)) > size_of(x(best)) : size_of(x(i)) < size_of(x(best))) best = i;
    }
    ++best;  // counted from 1
  }
  if (!call.writes(result, 1)) return kFailed;
  *result = best;
  return kDone;
}

template <bool conjugates, class T>
cublasStatus_t dot(const LibraryCall& call, Vector<const T> x, Vector<const T> y, T* result) {
  if (!call.reads(x.data, x.span()) || !call.reads(y.data, y.span()) || !call.writes(result, 1)) return kFailed;
  T total = 0;
  for (int i = 0; i < x.n; ++i) total += (conjugates ? conjugate(x(i)) : x(i)) * y(i);
  *result = total;
  return kDone;
}

template <class T, class Real>
cublasStatus_t norm(const LibraryCall& call, Vector<const T> x, Real* result) {
  if (!call.reads(x.data, x.span()) || !call.writes(result, 1)) return kFailed;
  long double total = 0;
  for (int i = 0; i < x.n; ++i) {
    const long double size = std::abs(std::complex<long double>(x(i)));
    total += size * size;
  }
  *result = static_cast<Real>(std::sqrt(total));
  return kDone;
}
template <class T, class Real>
cublasStatus_t sum_of_sizes(const LibraryCall& call, Vector<const T> x, Real* result) {
  if (!call.reads(x.data, x.span()) || !call.writes(result, 1)) return kFailed;
  double total = 0;
  for (int i = 0; i < x.n; ++i) total += size_of(x(i));
  *result = static_cast<Real>(total);
  return kDone;
}

// A rotation by the angle whose cosine and sine are given.
template <class T>
cublasStatus_t rotated(const LibraryCall& call, Vector<T> x, Vector<T> y, T cosine, T sine) {
  const bool there = call.reads(x.data, x.span()) && call.reads(y.data, y.span()) && call.writes(x.data, x.span()) &&
                     call.writes(y.data, y.span());
  if (!there) return kFailed;
  for (int i = 0; i < x.n; ++i) {
    const T before = x(i);
    x(i) = cosine * before + sine * y(i);
    y(i) = cosine * y(i) - sine * before;
  }
  return kDone;
}

template <bool conjugates, class T>
cublasStatus_t outer(const LibraryCall& call, int m, T alpha, Vector<const T> x, Vector<const T> y, Matrix<T> a) {
  if (bad(m, y.n, a.lead)) return kInvalid;
  const bool there = call.reads(x.data, x.span()) && call.reads(y.data, y.span()) &&
                     call.reads(a.data, span(m, y.n, a.lead)) && call.writes(a.data, span(m, y.n, a.lead));
  if (!there) return kFailed;
  for (int j = 0; j < y.n; ++j) {
    const T factor = alpha * (conjugates ? conjugate(y(j)) : y(j));
    for (int i = 0; i < m; ++i) a(i, j) += x(i) * factor;
  }
  return kDone;
}

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

bool is_lower(cublasFillMode_t fill, cublasOperation_t op) {
  return (fill == CUBLAS_FILL_MODE_LOWER) == (op == CUBLAS_OP_N);
}
template <class T>
Packed<T> triangle_of(Matrix<const T> a, cublasFillMode_t fill, cublasOperation_t op, cublasDiagType_t diag, int n) {
  const Packed<T> whole = triangle(a, fill, diag, n);
  return packed(Matrix<const T>{whole.data.data(), n > 0 ? n : 1}, op, n, n);
}

}  // namespace

#define SCALARS(...)                                                                               \
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;                                     \
  OB_TWIN_LIBRARY_CALL;                                                                            \
  for (const void* scalar : {__VA_ARGS__}) {                                                       \
    if (scalar == nullptr) return kInvalid;                                                        \
    const bool there = handle->mode == CUBLAS_POINTER_MODE_HOST || call.access(scalar, kBytes, 0); \
    if (!there) return kFailed;                                                                    \
  }

#define BLAS(L, T)                                                                                                     \
  cublasStatus_t cublas##L##axpy(cublasHandle_t handle, int n, const T* alpha, const T* x, int incx, T* y, int incy) { \
    constexpr size_t kBytes = sizeof(T);                                                                               \
    SCALARS(alpha)                                                                                                     \
    const Vector<const Plain<T>> from{plain(x), n, incx};                                                              \
    const Vector<Plain<T>> to{plain(y), n, incy};                                                                      \
    if (!call.reads(x, from.span()) || !call.reads(y, to.span()) || !call.writes(y, to.span())) return kFailed;        \
    for (int i = 0; i < n; ++i) to(i) += *plain(alpha) * from(i);                                                      \
    return kDone;                                                                                                      \
  }                                                                                                                    \
  cublasStatus_t cublas##L##copy(cublasHandle_t, int n, const T* x, int incx, T* y, int incy) {                        \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    const Vector<const T> from{x, n, incx};                                                                            \
    const Vector<T> to{y, n, incy};                                                                                    \
    if (!call.reads(x, from.span()) || !call.writes(y, to.span())) return kFailed;                                     \
    for (int i = 0; i < n; ++i) to(i) = from(i);                                                                       \
    return kDone;                                                                                                      \
  }                                                                                                                    \
  cublasStatus_t cublas##L##swap(cublasHandle_t, int n, T* x, int incx, T* y, int incy) {                              \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    const Vector<T> from{x, n, incx}, to{y, n, incy};                                                                  \
    if (!call.reads(x, from.span()) || !call.reads(y, to.span())) return kFailed;                                      \
    for (int i = 0; i < n; ++i) std::swap(from(i), to(i));                                                             \
    return kDone;                                                                                                      \
  }                                                                                                                    \
  cublasStatus_t cublas##L##scal(cublasHandle_t handle, int n, const T* alpha, T* x, int incx) {                       \
    constexpr size_t kBytes = sizeof(T);                                                                               \
    SCALARS(alpha)                                                                                                     \
    const Vector<Plain<T>> to{plain(x), n, incx};                                                                      \
    if (!call.reads(x, to.span()) || !call.writes(x, to.span())) return kFailed;                                       \
    for (int i = 0; i < n; ++i) to(i) *= *plain(alpha);                                                                \
    return kDone;                                                                                                      \
  }                                                                                                                    \
  cublasStatus_t cublasI##L##amax_v2(cublasHandle_t, int n, const T* x, int incx, int* result) {                       \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    return extreme(call, Vector<const Plain<T>>{plain(x), n, incx}, result, true);                                     \
  }                                                                                                                    \
  cublasStatus_t cublasI##L##amin_v2(cublasHandle_t, int n, const T* x, int incx, int* result) {                       \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    return extreme(call, Vector<const Plain<T>>{plain(x), n, incx}, result, false);                                    \
  }                                                                                                                    \
  cublasStatus_t cublas##L##gemv(cublasHandle_t handle, cublasOperation_t trans, int m, int n, const T* alpha,         \
                                 const T* a, int lda, const T* x, int incx, const T* beta, T* y, int incy) {           \
    constexpr size_t kBytes = sizeof(T);                                                                               \
    SCALARS(alpha, beta)                                                                                               \
    if (bad(m, n, lda) || incx == 0 || incy == 0) return kInvalid;                                                     \
    const int rows = rows_of(trans, m, n), columns = rows_of(trans, n, m);                                             \
    const Vector<const Plain<T>> from{plain(x), columns, incx};                                                        \
    const Vector<Plain<T>> to{plain(y), rows, incy};                                                                   \
    const Plain<T> factor = *plain(beta);                                                                              \
    const bool there = call.reads(a, span(m, n, lda)) && call.reads(x, from.span()) &&                                 \
                       (factor == Plain<T>(0) || call.reads(y, to.span())) && call.writes(y, to.span());               \
    if (!there) return kFailed;                                                                                        \
    const Matrix<const Plain<T>> matrix{plain(a), lda};                                                                \
    for (int i = 0; i < rows; ++i) {                                                                                   \
      Plain<T> total = 0;                                                                                              \
      for (int j = 0; j < columns; ++j) total += applied(matrix, trans, i, j) * from(j);                               \
      total *= *plain(alpha);                                                                                          \
      to(i) = factor == Plain<T>(0) ? total : total + factor * to(i);                                                  \
    }                                                                                                                  \
    return kDone;                                                                                                      \
  }                                                                                                                    \
  cublasStatus_t cublas##L##trsv(cublasHandle_t, cublasFillMode_t fill, cublasOperation_t trans,                       \
                                 cublasDiagType_t diag, int n, const T* a, int lda, T* x, int incx) {                  \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    if (bad(n, n, lda) || incx == 0) return kInvalid;                                                                  \
    const Vector<Plain<T>> to{plain(x), n, incx};                                                                      \
    if (!call.reads(a, span(n, n, lda)) || !call.reads(x, to.span()) || !call.writes(x, to.span())) return kFailed;    \
    solve(triangle_of(Matrix<const Plain<T>>{plain(a), lda}, fill, trans, diag, n), is_lower(fill, trans), to);        \
    return kDone;                                                                                                      \
  }                                                                                                                    \
  cublasStatus_t cublas##L##gemm(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,     \
                                 int n, int k, const T* alpha, const T* a, int lda, const T* b, int ldb,               \
                                 const T* beta, T* c, int ldc) {                                                       \
    constexpr size_t kBytes = sizeof(T);                                                                               \
    SCALARS(alpha, beta)                                                                                               \
    const Product<Plain<T>> one{transa, transb, m, n, k, lda, ldb, ldc, *plain(alpha), *plain(beta)};                  \
    return one.is_bad() ? kInvalid : one.run(call, plain(a), plain(b), plain(c));                                      \
  }                                                                                                                    \
  cublasStatus_t cublas##L##gemmBatched(                                                                               \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const T* alpha,  \
      const T* const a[], int lda, const T* const b[], int ldb, const T* beta, T* const c[], int ldc, int count) {     \
    constexpr size_t kBytes = sizeof(T);                                                                               \
    SCALARS(alpha, beta)                                                                                               \
    const Product<Plain<T>> one{transa, transb, m, n, k, lda, ldb, ldc, *plain(alpha), *plain(beta)};                  \
    if (one.is_bad() || count < 0) return kInvalid;                                                                    \
    if (!call.reads(a, count) || !call.reads(b, count) || !call.reads(c, count)) return kFailed;                       \
    cublasStatus_t status = kDone;                                                                                     \
    for (int i = 0; i < count && status == kDone; ++i) status = one.run(call, plain(a[i]), plain(b[i]), plain(c[i]));  \
    return status;                                                                                                     \
  }                                                                                                                    \
  cublasStatus_t cublas##L##gemmStridedBatched(                                                                        \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const T* alpha,  \
      const T* a, int lda, long long stridea, const T* b, int ldb, long long strideb, const T* beta, T* c, int ldc,    \
      long long stridec, int count) {                                                                                  \
    constexpr size_t kBytes = sizeof(T);                                                                               \
    SCALARS(alpha, beta)                                                                                               \
    const Product<Plain<T>> one{transa, transb, m, n, k, lda, ldb, ldc, *plain(alpha), *plain(beta)};                  \
    if (one.is_bad() || count < 0) return kInvalid;                                                                    \
    cublasStatus_t status = kDone;                                                                                     \
    for (int i = 0; i < count && status == kDone; ++i) {                                                               \
      status = one.run(call, plain(a + i * stridea), plain(b + i * strideb), plain(c + i * stridec));                  \
    }                                                                                                                  \
    return status;                                                                                                     \
  }                                                                                                                    \
  cublasStatus_t cublas##L##symm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill, int m, int n,    \
                                 const T* alpha, const T* a, int lda, const T* b, int ldb, const T* beta, T* c,        \
                                 int ldc) {                                                                            \
    constexpr size_t kBytes = sizeof(T);                                                                               \
    SCALARS(alpha, beta)                                                                                               \
    const int order = side == CUBLAS_SIDE_LEFT ? m : n;                                                                \
    if (bad(order, order, lda) || bad(m, n, ldb) || bad(m, n, ldc)) return kInvalid;                                   \
    const Plain<T> factor = *plain(beta);                                                                              \
    const bool there = call.reads(a, span(order, order, lda)) && call.reads(b, span(m, n, ldb)) &&                     \
                       (factor == Plain<T>(0) || call.reads(c, span(m, n, ldc))) && call.writes(c, span(m, n, ldc));   \
    if (!there) return kFailed;                                                                                        \
    const auto whole = symmetric(Matrix<const Plain<T>>{plain(a), lda}, fill, order);                                  \
    const auto other = packed(Matrix<const Plain<T>>{plain(b), ldb}, CUBLAS_OP_N, m, n);                               \
    const Matrix<Plain<T>> to{plain(c), ldc};                                                                          \
    side == CUBLAS_SIDE_LEFT ? product(whole, other, *plain(alpha), factor, to)                                        \
                             : product(other, whole, *plain(alpha), factor, to);                                       \
    return kDone;                                                                                                      \
  }                                                                                                                    \
  cublasStatus_t cublas##L##syrk(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t trans, int n, int k,  \
                                 const T* alpha, const T* a, int lda, const T* beta, T* c, int ldc) {                  \
    constexpr size_t kBytes = sizeof(T);                                                                               \
    SCALARS(alpha, beta)                                                                                               \
    if (bad(rows_of(trans, n, k), 0, lda) || n < 0 || k < 0 || bad(n, n, ldc)) return kInvalid;                        \
    const bool there = call.reads(a, span(rows_of(trans, n, k), rows_of(trans, k, n), lda)) &&                         \
                       (*plain(beta) == Plain<T>(0) || call.reads(c, span(n, n, ldc))) &&                              \
                       call.writes(c, span(n, n, ldc));                                                                \
    if (!there) return kFailed;                                                                                        \
    const Matrix<const Plain<T>> from{plain(a), lda};                                                                  \
    const Matrix<Plain<T>> to{plain(c), ldc};                                                                          \
    const bool turned = trans != CUBLAS_OP_N;                                                                          \
    const auto left = packed(from, turned ? CUBLAS_OP_T : CUBLAS_OP_N, n, k);                                          \
    const auto right = packed(from, turned ? CUBLAS_OP_N : CUBLAS_OP_T, k, n);                                         \
    product(                                                                                                           \
        left, right, *plain(alpha), *plain(beta), [&](int i, int j) { return to(i, j); },                              \
        [&](int i, int j, Plain<T> value) {                                                                            \
          if (fill == CUBLAS_FILL_MODE_LOWER ? i >= j : i <= j) to(i, j) = value;                                      \
        });                                                                                                            \
    return kDone;                                                                                                      \
  }                                                                                                                    \
  cublasStatus_t cublas##L##trsm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill,                  \
                                 cublasOperation_t trans, cublasDiagType_t diag, int m, int n, const T* alpha,         \
                                 const T* a, int lda, T* b, int ldb) {                                                 \
    constexpr size_t kBytes = sizeof(T);                                                                               \
    SCALARS(alpha)                                                                                                     \
    const bool left = side == CUBLAS_SIDE_LEFT;                                                                        \
    const int order = left ? m : n;                                                                                    \
    if (bad(order, order, lda) || bad(m, n, ldb)) return kInvalid;                                                     \
    const bool there =                                                                                                 \
        call.reads(a, span(order, order, lda)) && call.reads(b, span(m, n, ldb)) && call.writes(b, span(m, n, ldb));   \
    if (!there) return kFailed;                                                                                        \
    const auto whole = triangle_of(Matrix<const Plain<T>>{plain(a), lda}, fill, trans, diag, order);                   \
    const Matrix<Plain<T>> to{plain(b), ldb};                                                                          \
    for (int j = 0; j < n; ++j) {                                                                                      \
      for (int i = 0; i < m; ++i) to(i, j) *= *plain(alpha);                                                           \
    }                                                                                                                  \
    /* x op(a) = b is op(a)^T x^T = b^T. */                                                                            \
    const auto turned =                                                                                                \
        packed(Matrix<const Plain<T>>{whole.data.data(), order > 0 ? order : 1}, CUBLAS_OP_T, order, order);           \
    const bool lower = is_lower(fill, trans);                                                                          \
    for (int one = 0; one < (left ? n : m); ++one) {                                                                   \
      left ? solve(whole, lower, [&](int i) -> Plain<T>& { return to(i, one); })                                       \
           : solve(turned, !lower, [&](int i) -> Plain<T>& { return to(one, i); });                                    \
    }                                                                                                                  \
    return kDone;                                                                                                      \
  }                                                                                                                    \
  cublasStatus_t cublas##L##geam(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,     \
                                 int n, const T* alpha, const T* a, int lda, const T* beta, const T* b, int ldb, T* c, \
                                 int ldc) {                                                                            \
    constexpr size_t kBytes = sizeof(T);                                                                               \
    SCALARS(alpha, beta)                                                                                               \
    const Plain<T> x = *plain(alpha), y = *plain(beta), zero = 0;                                                      \
    if (bad(m, n, ldc) || (x != zero && bad(rows_of(transa, m, n), 0, lda)) ||                                         \
        (y != zero && bad(rows_of(transb, m, n), 0, ldb)))                                                             \
      return kInvalid;                                                                                                 \
    const bool there = (x == zero || call.reads(a, span(rows_of(transa, m, n), rows_of(transa, n, m), lda))) &&        \
                       (y == zero || call.reads(b, span(rows_of(transb, m, n), rows_of(transb, n, m), ldb))) &&        \
                       call.writes(c, span(m, n, ldc));                                                                \
    if (!there) return kFailed;                                                                                        \
    Packed<Plain<T>> sum(m, n);                                                                                        \
    for (int j = 0; j < n; ++j) {                                                                                      \
      for (int i = 0; i < m; ++i) {                                                                                    \
        if (x != zero) sum(i, j) = x * applied(Matrix<const Plain<T>>{plain(a), lda}, transa, i, j);                   \
        if (y != zero) sum(i, j) += y * applied(Matrix<const Plain<T>>{plain(b), ldb}, transb, i, j);                  \
      }                                                                                                                \
    }                                                                                                                  \
    const Matrix<Plain<T>> to{plain(c), ldc};                                                                          \
    for (int j = 0; j < n; ++j) {                                                                                      \
      for (int i = 0; i < m; ++i) to(i, j) = sum(i, j);                                                                \
    }                                                                                                                  \
    return kDone;                                                                                                      \
  }                                                                                                                    \
  cublasStatus_t cublas##L##dgmm(cublasHandle_t, cublasSideMode_t side, int m, int n, const T* a, int lda, const T* x, \
                                 int incx, T* c, int ldc) {                                                            \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    if (bad(m, n, lda) || bad(m, n, ldc)) return kInvalid;                                                             \
    const Vector<const Plain<T>> by{plain(x), side == CUBLAS_SIDE_LEFT ? m : n, incx};                                 \
    if (!call.reads(a, span(m, n, lda)) || !call.reads(x, by.span()) || !call.writes(c, span(m, n, ldc)))              \
      return kFailed;                                                                                                  \
    for (int j = 0; j < n; ++j) {                                                                                      \
      for (int i = 0; i < m; ++i) {                                                                                    \
        Matrix<Plain<T>>{plain(c), ldc}(i, j) =                                                                        \
            Matrix<const Plain<T>>{plain(a), lda}(i, j) * by(side == CUBLAS_SIDE_LEFT ? i : j);                        \
      }                                                                                                                \
    }                                                                                                                  \
    return kDone;                                                                                                      \
  }                                                                                                                    \
  cublasStatus_t cublas##L##getrfBatched(cublasHandle_t, int n, T* const a[], int lda, int* pivots, int* info,         \
                                         int count) {                                                                  \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    if (bad(n, n, lda) || count < 0) return kInvalid;                                                                  \
    if (!call.reads(a, count) || !call.writes(info, count)) return kFailed;                                            \
    if (pivots != nullptr && !call.writes(pivots, static_cast<size_t>(n) * count)) return kFailed;                     \
    for (int i = 0; i < count; ++i) {                                                                                  \
      if (!call.reads(a[i], span(n, n, lda))) return kFailed;                                                          \
      int* const own = pivots == nullptr ? nullptr : pivots + static_cast<size_t>(n) * i;                              \
      info[i] = factorize(Matrix<Plain<T>>{plain(a[i]), lda}, n, own);                                                 \
    }                                                                                                                  \
    return kDone;                                                                                                      \
  }                                                                                                                    \
  cublasStatus_t cublas##L##getriBatched(cublasHandle_t, int n, const T* const a[], int lda, const int* pivots,        \
                                         T* const c[], int ldc, int* info, int count) {                                \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    if (bad(n, n, lda) || bad(n, n, ldc) || count < 0) return kInvalid;                                                \
    if (!call.reads(a, count) || !call.reads(c, count) || !call.writes(info, count)) return kFailed;                   \
    for (int i = 0; i < count; ++i) {                                                                                  \
      if (!call.reads(a[i], span(n, n, lda)) || !call.writes(c[i], span(n, n, ldc))) return kFailed;                   \
      info[i] = 0;                                                                                                     \
      for (int k = n; k > 0; --k) {                                                                                    \
        if (Matrix<const Plain<T>>{plain(a[i]), lda}(k - 1, k - 1) == Plain<T>(0)) info[i] = k;                        \
      }                                                                                                                \
      for (int j = 0; info[i] == 0 && j < n; ++j) {                                                                    \
        Plain<T>* const column = &Matrix<Plain<T>>{plain(c[i]), ldc}(0, j);                                            \
        for (int k = 0; k < n; ++k) column[k] = Plain<T>(k == j ? 1 : 0);                                              \
        solve_factorized(Matrix<const Plain<T>>{plain(a[i]), lda}, n,                                                  \
                         pivots == nullptr ? nullptr : pivots + static_cast<size_t>(n) * i, CUBLAS_OP_N, column);      \
      }                                                                                                                \
    }                                                                                                                  \
    return kDone;                                                                                                      \
  }                                                                                                                    \
  cublasStatus_t cublas##L##getrsBatched(cublasHandle_t, cublasOperation_t trans, int n, int nrhs, const T* const a[], \
                                         int lda, const int* pivots, T* const b[], int ldb, int* info, int count) {    \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    if (bad(n, n, lda) || bad(n, nrhs, ldb) || count < 0 || info == nullptr) return kInvalid;                          \
    if (!call.reads(a, count) || !call.reads(b, count)) return kFailed;                                                \
    for (int i = 0; i < count; ++i) {                                                                                  \
      if (!call.reads(a[i], span(n, n, lda)) || !call.reads(b[i], span(n, nrhs, ldb))) return kFailed;                 \
      for (int j = 0; j < nrhs; ++j) {                                                                                 \
        solve_factorized(Matrix<const Plain<T>>{plain(a[i]), lda}, n,                                                  \
                         pivots == nullptr ? nullptr : pivots + static_cast<size_t>(n) * i, trans,                     \
                         &Matrix<Plain<T>>{plain(b[i]), ldb}(0, j));                                                   \
      }                                                                                                                \
    }                                                                                                                  \
    *info = 0;                                                                                                         \
    return kDone;                                                                                                      \
  }                                                                                                                    \
  cublasStatus_t cublas##L##gelsBatched(cublasHandle_t, cublasOperation_t trans, int m, int n, int nrhs, T* const a[], \
                                        int lda, T* const c[], int ldc, int* info, int* dev_info, int count) {         \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    if (trans != CUBLAS_OP_N || m < n) return CUBLAS_STATUS_NOT_SUPPORTED;                                             \
    if (bad(m, n, lda) || bad(m, nrhs, ldc) || count < 0 || info == nullptr) return kInvalid;                          \
    if (!call.reads(a, count) || !call.reads(c, count)) return kFailed;                                                \
    if (dev_info != nullptr && !call.writes(dev_info, count)) return kFailed;                                          \
    for (int i = 0; i < count; ++i) {                                                                                  \
      if (!call.reads(a[i], span(m, n, lda)) || !call.reads(c[i], span(m, nrhs, ldc))) return kFailed;                 \
      const bool solved =                                                                                              \
          least_squares(Matrix<Plain<T>>{plain(a[i]), lda}, m, n, Matrix<Plain<T>>{plain(c[i]), ldc}, nrhs);           \
      if (dev_info != nullptr) dev_info[i] = solved ? 0 : 1;                                                           \
    }                                                                                                                  \
    *info = 0;                                                                                                         \
    return kDone;                                                                                                      \
  }
BLAS(S, float)
BLAS(D, double)
BLAS(C, cuComplex)
BLAS(Z, cuDoubleComplex)

#define DOT(name, T, conjugates)                                                                                       \
  cublasStatus_t cublas##name(cublasHandle_t, int n, const T* x, int incx, const T* y, int incy, T* result) {          \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    return dot<conjugates>(call, Vector<const Plain<T>>{plain(x), n, incx}, Vector<const Plain<T>>{plain(y), n, incy}, \
                           plain(result));                                                                             \
  }
DOT(Sdot, float, false)
DOT(Ddot, double, false)
DOT(Cdotu, cuComplex, false)
DOT(Cdotc, cuComplex, true)
DOT(Zdotu, cuDoubleComplex, false)
DOT(Zdotc, cuDoubleComplex, true)

#define SIZE(name, T, Real, function)                                                      \
  cublasStatus_t cublas##name(cublasHandle_t, int n, const T* x, int incx, Real* result) { \
    OB_TWIN_LIBRARY_CALL;                                                                  \
    return function(call, Vector<const Plain<T>>{plain(x), n, incx}, result);              \
  }
SIZE(Snrm2, float, float, norm)
SIZE(Dnrm2, double, double, norm)
SIZE(Scnrm2, cuComplex, float, norm)
SIZE(Dznrm2, cuDoubleComplex, double, norm)
SIZE(Sasum, float, float, sum_of_sizes)
SIZE(Dasum, double, double, sum_of_sizes)
SIZE(Scasum, cuComplex, float, sum_of_sizes)
SIZE(Dzasum, cuDoubleComplex, double, sum_of_sizes)

#define RANK(name, T, conjugates)                                                                                    \
  cublasStatus_t cublas##name(cublasHandle_t handle, int m, int n, const T* alpha, const T* x, int incx, const T* y, \
                              int incy, T* a, int lda) {                                                             \
    constexpr size_t kBytes = sizeof(T);                                                                             \
    SCALARS(alpha)                                                                                                   \
    return outer<conjugates>(call, m, *plain(alpha), Vector<const Plain<T>>{plain(x), m, incx},                      \
                             Vector<const Plain<T>>{plain(y), n, incy}, Matrix<Plain<T>>{plain(a), lda});            \
  }
RANK(Sger, float, false)
RANK(Dger, double, false)
RANK(Cgeru, cuComplex, false)
RANK(Cgerc, cuComplex, true)
RANK(Zgeru, cuDoubleComplex, false)
RANK(Zgerc, cuDoubleComplex, true)

cublasStatus_t cublasSrot(cublasHandle_t handle, int n, float* x, int incx, float* y, int incy, const float* c,
                          const float* s) {
  constexpr size_t kBytes = sizeof(float);
  SCALARS(c, s)
  return rotated(call, Vector<float>{x, n, incx}, Vector<float>{y, n, incy}, *c, *s);
}
cublasStatus_t cublasDrot(cublasHandle_t handle, int n, double* x, int incx, double* y, int incy, const double* c,
                          const double* s) {
  constexpr size_t kBytes = sizeof(double);
  SCALARS(c, s)
  return rotated(call, Vector<double>{x, n, incx}, Vector<double>{y, n, incy}, *c, *s);
}

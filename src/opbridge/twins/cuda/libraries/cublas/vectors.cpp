// cuBLAS's functions of vectors (level 1) for the four types of BLAS.
#include <cmath>

#include "arguments.h"

namespace {

using namespace opbridge_twin::blas;
using opbridge_twin::LibraryCall;

template <class T>
cublasStatus_t axpy(const LibraryCall& call, cublasHandle_t handle, const T* alpha, Vector<const T> x, Vector<T> y) {
  if (const cublasStatus_t status = scalars<T>(call, handle, {alpha}); status != kDone) return status;
  if (!x.reads(call) || !y.updates(call)) return kFailed;
  for (int i = 0; i < x.n; ++i) y(i) += *alpha * x(i);
  return kDone;
}

template <class T>
cublasStatus_t copy(const LibraryCall& call, Vector<const T> x, Vector<T> y) {
  if (!x.reads(call) || !y.writes(call)) return kFailed;
  for (int i = 0; i < x.n; ++i) y(i) = x(i);
  return kDone;
}

template <class T>
cublasStatus_t swap(const LibraryCall& call, Vector<T> x, Vector<T> y) {
  if (!x.updates(call) || !y.updates(call)) return kFailed;
  for (int i = 0; i < x.n; ++i) std::swap(x(i), y(i));
  return kDone;
}

// The factor of a complex vector may be real.
template <class T, class Factor>
cublasStatus_t scal(const LibraryCall& call, cublasHandle_t handle, const Factor* alpha, Vector<T> x) {
  if (const cublasStatus_t status = scalars<Factor>(call, handle, {alpha}); status != kDone) return status;
  if (!x.updates(call)) return kFailed;
  for (int i = 0; i < x.n; ++i) x(i) *= *alpha;
  return kDone;
}

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
    if (!x.reads(call)) return kFailed;
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
  if (!x.reads(call) || !y.reads(call) || !call.writes(result, 1)) return kFailed;
  T total = 0;
  for (int i = 0; i < x.n; ++i) total += (conjugates ? conjugate(x(i)) : x(i)) * y(i);
  *result = total;
  return kDone;
}

// In long double no square overflows, so the scaling of BLAS's nrm2 is not needed.
template <class T, class Real>
cublasStatus_t norm(const LibraryCall& call, Vector<const T> x, Real* result) {
  if (!x.reads(call) || !call.writes(result, 1)) return kFailed;
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
  if (!x.reads(call) || !call.writes(result, 1)) return kFailed;
  double total = 0;
  for (int i = 0; i < x.n; ++i) total += size_of(x(i));
  *result = static_cast<Real>(total);
  return kDone;
}

// A rotation by the angle whose cosine and sine are given.
template <class T>
cublasStatus_t rot(const LibraryCall& call, cublasHandle_t handle, Vector<T> x, Vector<T> y, const T* cosine,
                   const T* sine) {
  if (const cublasStatus_t status = scalars<T>(call, handle, {cosine, sine}); status != kDone) return status;
  if (!x.updates(call) || !y.updates(call)) return kFailed;
  const T c = *cosine, s = *sine;
  for (int i = 0; i < x.n; ++i) {
    const T before = x(i);
    x(i) = c * before + s * y(i);
    y(i) = c * y(i) - s * before;
  }
  return kDone;
}

}  // namespace

#define OB_TWIN_VECTORS(L, T)                                                                                          \
  cublasStatus_t cublas##L##axpy(cublasHandle_t handle, int n, const T* alpha, const T* x, int incx, T* y, int incy) { \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    return axpy(call, handle, plain(alpha), vector(x, n, incx), vector(y, n, incy));                                   \
  }                                                                                                                    \
  cublasStatus_t cublas##L##copy(cublasHandle_t, int n, const T* x, int incx, T* y, int incy) {                        \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    return copy(call, vector(x, n, incx), vector(y, n, incy));                                                         \
  }                                                                                                                    \
  cublasStatus_t cublas##L##swap(cublasHandle_t, int n, T* x, int incx, T* y, int incy) {                              \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    return swap(call, vector(x, n, incx), vector(y, n, incy));                                                         \
  }                                                                                                                    \
  cublasStatus_t cublas##L##scal(cublasHandle_t handle, int n, const T* alpha, T* x, int incx) {                       \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    return scal(call, handle, plain(alpha), vector(x, n, incx));                                                       \
  }                                                                                                                    \
  cublasStatus_t cublasI##L##amax_v2(cublasHandle_t, int n, const T* x, int incx, int* result) {                       \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    return extreme(call, vector(x, n, incx), result, true);                                                            \
  }                                                                                                                    \
  cublasStatus_t cublasI##L##amin_v2(cublasHandle_t, int n, const T* x, int incx, int* result) {                       \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    return extreme(call, vector(x, n, incx), result, false);                                                           \
  }
OB_TWIN_VECTORS(S, float)
OB_TWIN_VECTORS(D, double)
OB_TWIN_VECTORS(C, cuComplex)
OB_TWIN_VECTORS(Z, cuDoubleComplex)

#define OB_TWIN_DOT(name, T, conjugates)                                                                      \
  cublasStatus_t cublas##name(cublasHandle_t, int n, const T* x, int incx, const T* y, int incy, T* result) { \
    OB_TWIN_LIBRARY_CALL;                                                                                     \
    return dot<conjugates>(call, vector(x, n, incx), vector(y, n, incy), plain(result));                      \
  }
OB_TWIN_DOT(Sdot, float, false)
OB_TWIN_DOT(Ddot, double, false)
OB_TWIN_DOT(Cdotu, cuComplex, false)
OB_TWIN_DOT(Cdotc, cuComplex, true)
OB_TWIN_DOT(Zdotu, cuDoubleComplex, false)
OB_TWIN_DOT(Zdotc, cuDoubleComplex, true)

#define OB_TWIN_SIZE(name, T, Real, function)                                              \
  cublasStatus_t cublas##name(cublasHandle_t, int n, const T* x, int incx, Real* result) { \
    OB_TWIN_LIBRARY_CALL;                                                                  \
    return function(call, vector(x, n, incx), result);                                     \
  }
OB_TWIN_SIZE(Snrm2, float, float, norm)
OB_TWIN_SIZE(Dnrm2, double, double, norm)
OB_TWIN_SIZE(Scnrm2, cuComplex, float, norm)
OB_TWIN_SIZE(Dznrm2, cuDoubleComplex, double, norm)
OB_TWIN_SIZE(Sasum, float, float, sum_of_sizes)
OB_TWIN_SIZE(Dasum, double, double, sum_of_sizes)
OB_TWIN_SIZE(Scasum, cuComplex, float, sum_of_sizes)
OB_TWIN_SIZE(Dzasum, cuDoubleComplex, double, sum_of_sizes)

cublasStatus_t cublasCsscal(cublasHandle_t handle, int n, const float* alpha, cuComplex* x, int incx) {
  OB_TWIN_LIBRARY_CALL;
  return scal(call, handle, alpha, vector(x, n, incx));
}
cublasStatus_t cublasZdscal(cublasHandle_t handle, int n, const double* alpha, cuDoubleComplex* x, int incx) {
  OB_TWIN_LIBRARY_CALL;
  return scal(call, handle, alpha, vector(x, n, incx));
}

cublasStatus_t cublasSrot(cublasHandle_t handle, int n, float* x, int incx, float* y, int incy, const float* c,
                          const float* s) {
  OB_TWIN_LIBRARY_CALL;
  return rot(call, handle, vector(x, n, incx), vector(y, n, incy), c, s);
}
cublasStatus_t cublasDrot(cublasHandle_t handle, int n, double* x, int incx, double* y, int incy, const double* c,
                          const double* s) {
  OB_TWIN_LIBRARY_CALL;
  return rot(call, handle, vector(x, n, incx), vector(y, n, incy), c, s);
}

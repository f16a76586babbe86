// The discrete Fourier transform of any size, in doubles: by its prime factors, or as a convolution where one is large.
//
// Reference: Cooley and Tukey, An algorithm for the machine calculation of complex Fourier series, Mathematics of
// Computation 19 (1965); Bluestein, A linear filtering approach to the computation of the discrete Fourier transform,
// IEEE Transactions on Audio and Electroacoustics 18 (1970).
#ifndef OPBRIDGE_TWIN_LIBRARIES_CUFFT_TRANSFORM_H
#define OPBRIDGE_TWIN_LIBRARIES_CUFFT_TRANSFORM_H

#include <stddef.h>

#include <cmath>
#include <complex>
#include <vector>

namespace opbridge_twin::fft {

using Complex = std::complex<double>;
using Signal = std::vector<Complex>;

inline size_t least_factor(size_t n) {
  for (size_t p = 2; p * p <= n; ++p) {
    if (n % p == 0) return p;
  }
  return n;
}
inline size_t largest_factor(size_t n) {
  size_t largest = 1;
  for (; n > 1; n /= largest) largest = least_factor(n);
  return largest;
}

// exp(sign 2 pi i k / n)
inline Complex root(size_t k, size_t n, int sign) {
  const double angle = sign * 2 * M_PI * static_cast<double>(k % n) / static_cast<double>(n);
  return {std::cos(angle), std::sin(angle)};
}

// Of one size and direction; `roots_` are all roots of one, in their order.
class Transform {
 public:
  Transform(size_t n, int sign) : n_(n), sign_(sign), roots_(n) {
    for (size_t k = 0; k < n; ++k) roots_[k] = root(k, n, sign);
  }

  Signal operator()(const Signal& from) const {
    if (largest_factor(n_) > kLargestFactor) return as_convolution(from);
    Signal to(n_);
    by_factors(from.data(), 1, to.data(), n_);
    return to;
  }

 private:
  static constexpr size_t kLargestFactor = 61;

  void by_factors(const Complex* from, size_t stride, Complex* to, size_t n) const {
    if (n == 1) {
      *to = *from;
      return;
    }
    const size_t p = least_factor(n), m = n / p, step = n_ / n;
    for (size_t q = 0; q < p; ++q) by_factors(from + q * stride, stride * p, to + q * m, m);
    Complex parts[kLargestFactor];
    for (size_t k = 0; k < m; ++k) {
      for (size_t q = 0; q < p; ++q) parts[q] = to[q * m + k] * roots_[q * k * step];
      for (size_t r = 0; r < p; ++r) {
        Complex sum = 0;
        for (size_t q = 0; q < p; ++q) sum += parts[q] * roots_[q * r % p * m * step];
        to[r * m + k] = sum;
      }
    }
  }

  // By Bluestein's identity: j k is half of j^2 + k^2 - (j - k)^2.
  Signal as_convolution(const Signal& from) const {
    size_t size = 1;
    while (size < 2 * n_ - 1) size *= 2;
    const auto chirp = [this](size_t k) { return root(k * k % (2 * n_), 2 * n_, sign_); };
    Signal a(size), b(size);
    for (size_t k = 0; k < n_; ++k) {
      a[k] = from[k] * chirp(k);
      b[k] = b[(size - k) % size] = std::conj(chirp(k));
    }
    const Transform there(size, -1), back(size, 1);
    a = there(a);
    b = there(b);
    for (size_t k = 0; k < size; ++k) a[k] *= b[k] / static_cast<double>(size);
    a = back(a);
    Signal to(n_);
    for (size_t k = 0; k < n_; ++k) to[k] = a[k] * chirp(k);
    return to;
  }

  size_t n_;
  int sign_;
  Signal roots_;
};

// Along each of the dimensions, of which the last one's elements are neighbours.
inline void transform(Signal& data, const std::vector<size_t>& sizes, int sign) {
  size_t inner = 1;
  for (size_t d = sizes.size(); d-- > 0; inner *= sizes[d]) {
    const size_t n = sizes[d];
    const Transform along(n, sign);
    Signal line(n);
    for (size_t first = 0; first < data.size(); ++first) {
      if (first / inner % n != 0) continue;
      for (size_t k = 0; k < n; ++k) line[k] = data[first + k * inner];
      const Signal made = along(line);
      for (size_t k = 0; k < n; ++k) data[first + k * inner] = made[k];
    }
  }
}

}  // namespace opbridge_twin::fft
#endif

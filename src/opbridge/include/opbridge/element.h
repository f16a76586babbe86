// Functions of elements that formulas have and the C library lacks or defines differently.
#ifndef OPBRIDGE_ELEMENT_H
#define OPBRIDGE_ELEMENT_H

#include <opbridge/check.h>

#include <cmath>

namespace ob {

// A product that is rounded before anything is added to it; uncontracted.h ensures this on a CPU.
template <class F>
OB_HOST_DEVICE inline F product(F a, F b) {
#if defined(__CUDA_ARCH__) && !defined(__OPBRIDGE_CUDA_TWIN__)
  if constexpr (sizeof(F) == 8) {
    return __dmul_rn(a, b);
  } else {
    return __fmul_rn(a, b);
  }
#else
  return a * b;
#endif
}

// As in PyTorch: the result is NaN if either value is, and the sign of NaN is 0.
template <class F>
OB_HOST_DEVICE inline F maximum(F a, F b) {
  return a > b || a != a ? a : b;
}

template <class F>
OB_HOST_DEVICE inline F minimum(F a, F b) {
  return a < b || a != a ? a : b;
}

template <class F>
OB_HOST_DEVICE inline F sign(F x) {
  return F(x > F(0)) - F(x < F(0));
}

// Like Python's `//` and `%`, with the divisor's sign.
template <class F>
OB_HOST_DEVICE inline F remainder(F a, F b) {
  const F left = static_cast<F>(std::fmod(a, b));
  return left != F(0) && (left < F(0)) != (b < F(0)) ? left + b : left;
}

// Computed from the remainder, because a rounded quotient may be the next whole number.
template <class F>
OB_HOST_DEVICE inline F floor_divide(F a, F b) {
  const F quotient = a / b, left = static_cast<F>(std::fmod(a, b));
  const F whole = (a - left) / b - F(left != F(0) && (left < F(0)) != (b < F(0)));
  const F near = static_cast<F>(std::floor(whole)), floor = whole - near > F(0.5) ? near + F(1) : near;
  const F of_plain = whole != F(0) ? floor : static_cast<F>(std::copysign(F(0), quotient));
  return b == F(0) ? quotient : of_plain;
}

}  // namespace ob
#endif

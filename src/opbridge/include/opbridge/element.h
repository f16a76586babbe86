// Functions of elements that formulas have and the C library has not, or means otherwise.
#ifndef OPBRIDGE_ELEMENT_H
#define OPBRIDGE_ELEMENT_H

#include <opbridge/check.h>

#include <cmath>

namespace ob {

// That is rounded before anything is added to it; on a CPU uncontracted.h sees to that.
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

// A NaN is passed on, as in PyTorch.
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
  return x > F(0) ? F(1) : x < F(0) ? F(-1) : x;
}

// As Python's `//` and `%`, with the divisor's sign.
template <class F>
OB_HOST_DEVICE inline F remainder(F a, F b) {
  const F left = static_cast<F>(std::fmod(a, b));
  return left != F(0) && (left < F(0)) != (b < F(0)) ? left + b : left;
}

template <class F>
OB_HOST_DEVICE inline F floor_divide(F a, F b) {
  return static_cast<F>(std::floor(a / b));
}

}  // namespace ob
#endif

// Rows of halves to float and back.
//
// For a loop over ob::half g++ emits a dozen vector operations instead of the conversion instruction of AVX2 and
// AVX-512.  A NaN stays a NaN; its payload is the processor's.
#ifndef OPBRIDGE_HALVES_H
#define OPBRIDGE_HALVES_H

#include <opbridge/half.h>

#include <cstddef>

#if defined(__F16C__) && defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__) && !defined(OB_NATIVE_HALF)
#ifdef __AVX512F__
#define OB_HALVES_AT_ONCE 16
#else
#define OB_HALVES_AT_ONCE 8
#endif
#endif

namespace ob {
namespace [[gnu::visibility("hidden")]] detail {

#ifdef OB_HALVES_AT_ONCE
using SomeFloats = float __attribute__((vector_size(4 * OB_HALVES_AT_ONCE)));
using SomeHalves = short __attribute__((vector_size(2 * OB_HALVES_AT_ONCE)));

inline SomeFloats widen(SomeHalves halves) {
#ifdef __AVX512F__
  return __builtin_ia32_vcvtph2ps512_mask(halves, SomeFloats{}, -1, 4);
#else
  return __builtin_ia32_vcvtph2ps256(halves);
#endif
}

inline SomeHalves narrow(SomeFloats floats) {
  constexpr int kToNearestEven = 0;
#ifdef __AVX512F__
  return __builtin_ia32_vcvtps2ph512_mask(floats, kToNearestEven, SomeHalves{}, -1);
#else
  return __builtin_ia32_vcvtps2ph256(floats, kToNearestEven);
#endif
}
#endif

inline void widen(const half* from, float* to, size_t n) {
  size_t i = 0;
#ifdef OB_HALVES_AT_ONCE
  for (; i + OB_HALVES_AT_ONCE <= n; i += OB_HALVES_AT_ONCE) {
    SomeHalves halves;
    __builtin_memcpy(&halves, from + i, sizeof halves);
    const SomeFloats floats = widen(halves);
    __builtin_memcpy(to + i, &floats, sizeof floats);
  }
#endif
  for (; i < n; ++i) to[i] = from[i];
}

inline void narrow(const float* from, half* to, size_t n) {
  size_t i = 0;
#ifdef OB_HALVES_AT_ONCE
  for (; i + OB_HALVES_AT_ONCE <= n; i += OB_HALVES_AT_ONCE) {
    SomeFloats floats;
    __builtin_memcpy(&floats, from + i, sizeof floats);
    const SomeHalves halves = narrow(floats);
    __builtin_memcpy(to + i, &halves, sizeof halves);
  }
#endif
  for (; i < n; ++i) to[i] = from[i];
}

}  // namespace detail
}  // namespace ob
#endif

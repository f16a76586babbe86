// Sums, and which of two or three is the greatest or least, in words and in packed halfwords: the functions for dynamic
// programming (DPX).
#ifndef OPBRIDGE_TWIN_DPX_H
#define OPBRIDGE_TWIN_DPX_H

#include <opbridge_twin/packed.h>

#include <algorithm>
#include <type_traits>

namespace opbridge_twin {

// A sum wraps around, as the lane's type does.
template <class Lane, class F>
OB_TWIN_INLINE unsigned by_lanes(unsigned a, unsigned b, unsigned c, const F& f) {
  constexpr int kBits = 8 * sizeof(Lane);
  unsigned result = 0;
  for (int shift = 0; shift < 32; shift += kBits) {
    const auto lane = static_cast<std::make_unsigned_t<Lane>>(
        f(static_cast<Lane>(a >> shift), static_cast<Lane>(b >> shift), static_cast<Lane>(c >> shift)));
    result |= static_cast<unsigned>(lane) << shift;
  }
  return result;
}
template <class Lane>
OB_TWIN_INLINE Lane wrapped_sum(Lane x, Lane y) {
  return static_cast<Lane>(static_cast<unsigned>(x) + static_cast<unsigned>(y));
}

}  // namespace opbridge_twin

// `result` is of x, y and z, which are of the type Lane.
#define OB_TWIN_DPX(name, suffix, Word, Lane, result)                                                \
  OB_TWIN_INLINE Word name##_##suffix(Word a, Word b, Word c) {                                      \
    using namespace opbridge_twin;                                                                   \
    return static_cast<Word>(by_lanes<Lane>(static_cast<unsigned>(a), static_cast<unsigned>(b),      \
                                            static_cast<unsigned>(c),                                \
                                            [](Lane x, Lane y, Lane z) -> Lane { return result; })); \
  }
#define OB_TWIN_DPX_ALL(name, result)                             \
  OB_TWIN_DPX(name, s32, int, int, result)                        \
  OB_TWIN_DPX(name, s16x2, unsigned, int16_t, result)             \
  OB_TWIN_DPX(name, u32, unsigned, unsigned, result)              \
  OB_TWIN_DPX(name, u16x2, unsigned, uint16_t, result)            \
  OB_TWIN_DPX(name, s32_relu, int, int, std::max<int>(result, 0)) \
  OB_TWIN_DPX(name, s16x2_relu, unsigned, int16_t, std::max<int16_t>(result, 0))
OB_TWIN_DPX_ALL(__viaddmax, std::max(wrapped_sum(x, y), z))
OB_TWIN_DPX_ALL(__viaddmin, std::min(wrapped_sum(x, y), z))
OB_TWIN_DPX_ALL(__vimax3, std::max(std::max(x, y), z))
OB_TWIN_DPX_ALL(__vimin3, std::min(std::min(x, y), z))
#undef OB_TWIN_DPX_ALL
#undef OB_TWIN_DPX

OB_TWIN_INLINE int __vimax_s32_relu(int a, int b) { return __vimax3_s32(a, b, 0); }
OB_TWIN_INLINE int __vimin_s32_relu(int a, int b) { return std::max(std::min(a, b), 0); }
OB_TWIN_INLINE unsigned __vimax_s16x2_relu(unsigned a, unsigned b) { return __vimax3_s16x2(a, b, 0); }
OB_TWIN_INLINE unsigned __vimin_s16x2_relu(unsigned a, unsigned b) { return __vimin3_s16x2_relu(a, b, a); }

// They say too whether it is the first.
#define OB_TWIN_WHICH(name, relation, suffix, Word, Half)                                                          \
  OB_TWIN_INLINE Word name##_##suffix##32(Word a, Word b, bool* first) {                                           \
    *first = a relation b;                                                                                         \
    return *first ? a : b;                                                                                         \
  }                                                                                                                \
  OB_TWIN_INLINE unsigned name##_##suffix##16x2(unsigned a, unsigned b, bool* high_is_first, bool* low_is_first) { \
    *high_is_first = static_cast<Half>(a >> 16) relation static_cast<Half>(b >> 16);                               \
    *low_is_first = static_cast<Half>(a) relation static_cast<Half>(b);                                            \
    return ((*high_is_first ? a : b) & 0xffff0000u) | ((*low_is_first ? a : b) & 0xffffu);                         \
  }
OB_TWIN_WHICH(__vibmax, >=, s, int, int16_t)
OB_TWIN_WHICH(__vibmax, >=, u, unsigned, uint16_t)
OB_TWIN_WHICH(__vibmin, <=, s, int, int16_t)
OB_TWIN_WHICH(__vibmin, <=, u, unsigned, uint16_t)
#undef OB_TWIN_WHICH

#endif

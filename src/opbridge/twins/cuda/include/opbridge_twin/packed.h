// Functions of two halfwords or four bytes that lie in one word, each lane by itself.
#ifndef OPBRIDGE_TWIN_PACKED_H
#define OPBRIDGE_TWIN_PACKED_H

#include <opbridge_twin/thread.h>
#include <stdint.h>

#include <limits>

namespace opbridge_twin {

// The lanes of two words, widened so that no sum of them overflows; f's results are cut back to the lane's width.
template <class Lane, class F>
OB_TWIN_INLINE unsigned by_lanes(unsigned a, unsigned b, const F& f) {
  constexpr int kBits = 8 * sizeof(Lane);
  constexpr unsigned kMask = (1u << kBits) - 1;
  unsigned result = 0;
  for (int shift = 0; shift < 32; shift += kBits) {
    const int x = static_cast<Lane>(a >> shift), y = static_cast<Lane>(b >> shift);
    result |= (static_cast<unsigned>(f(x, y)) & kMask) << shift;
  }
  return result;
}

template <class Lane>
OB_TWIN_INLINE int saturated(int value) {
  constexpr int kLeast = std::numeric_limits<Lane>::min(), kMost = std::numeric_limits<Lane>::max();
  return value < kLeast ? kLeast : value > kMost ? kMost : value;
}

template <class Lane>
OB_TWIN_INLINE unsigned sum_of_differences(unsigned a, unsigned b) {
  unsigned sum = 0;
  by_lanes<Lane>(a, b, [&sum](int x, int y) { return sum += static_cast<unsigned>(x < y ? y - x : x - y), 0; });
  return sum;
}

}  // namespace opbridge_twin

// For halfwords (2) and bytes (4); `result` is of x and y, lanes of this type.
#define OB_TWIN_LANES(name, lanes, Lane, result)                                              \
  OB_TWIN_INLINE unsigned name##lanes(unsigned a, unsigned b) {                               \
    using opbridge_twin::saturated;                                                           \
    return opbridge_twin::by_lanes<Lane>(a, b, [](int x, int y) { return (void)y, result; }); \
  }
#define OB_TWIN_SIGNED(name, result) OB_TWIN_LANES(name, 2, int16_t, result) OB_TWIN_LANES(name, 4, int8_t, result)
#define OB_TWIN_UNSIGNED(name, result) OB_TWIN_LANES(name, 2, uint16_t, result) OB_TWIN_LANES(name, 4, uint8_t, result)
#define OB_TWIN_SATURATED(name, suffix, width2, width4, result)     \
  OB_TWIN_LANES(name##suffix, 2, width2, saturated<width2>(result)) \
  OB_TWIN_LANES(name##suffix, 4, width4, saturated<width4>(result))
// A comparison: all bits of the lane, or its lowest one, where it holds.
#define OB_TWIN_COMPARISON(name, relation)           \
  OB_TWIN_SIGNED(__vcmp##name##s, -(x relation y))   \
  OB_TWIN_SIGNED(__vset##name##s, x relation y)      \
  OB_TWIN_UNSIGNED(__vcmp##name##u, -(x relation y)) \
  OB_TWIN_UNSIGNED(__vset##name##u, x relation y)

OB_TWIN_SIGNED(__vadd, x + y)
OB_TWIN_SIGNED(__vsub, x - y)
OB_TWIN_SATURATED(__vadd, ss, int16_t, int8_t, x + y)
OB_TWIN_SATURATED(__vadd, us, uint16_t, uint8_t, x + y)
OB_TWIN_SATURATED(__vsub, ss, int16_t, int8_t, x - y)
OB_TWIN_SATURATED(__vsub, us, uint16_t, uint8_t, x - y)
OB_TWIN_SIGNED(__vabsdiffs, x < y ? y - x : x - y)
OB_TWIN_UNSIGNED(__vabsdiffu, x < y ? y - x : x - y)
// Halves are rounded away from zero.
OB_TWIN_SIGNED(__vavgs, (x + y + (x + y >= 0)) >> 1)
OB_TWIN_UNSIGNED(__vavgu, (x + y + 1) >> 1)
OB_TWIN_UNSIGNED(__vhaddu, (x + y) >> 1)
OB_TWIN_SIGNED(__vmaxs, x < y ? y : x)
OB_TWIN_UNSIGNED(__vmaxu, x < y ? y : x)
OB_TWIN_SIGNED(__vmins, y < x ? y : x)
OB_TWIN_UNSIGNED(__vminu, y < x ? y : x)
OB_TWIN_UNSIGNED(__vcmpeq, -(x == y))
OB_TWIN_UNSIGNED(__vseteq, x == y)
OB_TWIN_UNSIGNED(__vcmpne, -(x != y))
OB_TWIN_UNSIGNED(__vsetne, x != y)
OB_TWIN_COMPARISON(lt, <)
OB_TWIN_COMPARISON(le, <=)
OB_TWIN_COMPARISON(gt, >)
OB_TWIN_COMPARISON(ge, >=)

#define OB_TWIN_OF_ONE(lanes, Lane)                                                                     \
  OB_TWIN_INLINE unsigned __vneg##lanes(unsigned a) { return __vsub##lanes(0, a); }                     \
  OB_TWIN_INLINE unsigned __vnegss##lanes(unsigned a) { return __vsubss##lanes(0, a); }                 \
  OB_TWIN_INLINE unsigned __vabs##lanes(unsigned a) { return __vabsdiffs##lanes(a, 0); }                \
  OB_TWIN_INLINE unsigned __vabsss##lanes(unsigned a) { return __vmaxs##lanes(a, __vnegss##lanes(a)); } \
  OB_TWIN_INLINE unsigned __vsads##lanes(unsigned a, unsigned b) {                                      \
    return opbridge_twin::sum_of_differences<Lane>(a, b);                                               \
  }                                                                                                     \
  OB_TWIN_INLINE unsigned __vsadu##lanes(unsigned a, unsigned b) {                                      \
    return opbridge_twin::sum_of_differences<u##Lane>(a, b);                                            \
  }
OB_TWIN_OF_ONE(2, int16_t)
OB_TWIN_OF_ONE(4, int8_t)

#undef OB_TWIN_OF_ONE
#undef OB_TWIN_COMPARISON
#undef OB_TWIN_SATURATED
#undef OB_TWIN_UNSIGNED
#undef OB_TWIN_SIGNED
#undef OB_TWIN_LANES

#endif

// Operations of the lanes of a warp.  Each lane contributes its part, and the last one computes the results of all.
#ifndef OPBRIDGE_TWIN_WARP_H
#define OPBRIDGE_TWIN_WARP_H

#include <opbridge_twin/thread.h>

#include <type_traits>

namespace opbridge_twin {

template <class Part>
OB_TWIN_INLINE void meet(unsigned mask, const char* what, Part& part, ob_twin_resolve resolve) {
  const Pause pause;
  ob_twin_meet(pause.thread, mask, what, &part, resolve);
}

// The lanes of a mask, from the lowest to the highest.
#define OB_TWIN_FOR_LANES(lane, lanes)                                                                      \
  for (unsigned rest = lanes, lane; rest != 0 && (lane = static_cast<unsigned>(__builtin_ctz(rest)), true); \
       rest &= rest - 1)

OB_TWIN_INLINE int this_lane() { return static_cast<int>(this_thread() % 32); }

// The input and the result of a lane in a shuffle.
template <class T>
struct Shuffle {
  T value;
  int source;
  T result;
};

// What CUDA converts to int where it has no function for the type itself.
template <class T>
using Shuffled = std::conditional_t<std::is_integral<T>::value && sizeof(T) < 4, int, T>;

template <class T>
OB_TWIN_UNSEEN unsigned resolve_shuffle(void* const* brought, unsigned lanes) {
  unsigned wanted = 0;
  OB_TWIN_FOR_LANES(lane, lanes) {
    Shuffle<T>* part = static_cast<Shuffle<T>*>(brought[lane]);
    wanted |= 1u << part->source;
    if (lanes >> part->source & 1) part->result = static_cast<Shuffle<T>*>(brought[part->source])->value;
  }
  return wanted & ~lanes;
}

// The value of the source lane, or the caller's own where that one has not come.
template <class Value, class T = Shuffled<Value>>
OB_TWIN_INLINE T shuffle(unsigned mask, const char* what, Value given, int source) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8, "a shuffle moves values of 2, 4 or 8 bytes");
  const T value = given;
  Shuffle<T> part{value, source, value};
  meet(mask, what, part, resolve_shuffle<T>);
  return part.result;
}

// A ballot, of which any and all are questions.
struct Vote {
  unsigned predicate;
  unsigned agreed;
  unsigned lanes;
};

OB_TWIN_UNSEEN inline unsigned resolve_vote(void* const* brought, unsigned lanes) {
  unsigned agreed = 0;
  OB_TWIN_FOR_LANES(lane, lanes) agreed |= static_cast<Vote*>(brought[lane])->predicate << lane;
  OB_TWIN_FOR_LANES(lane, lanes) {
    static_cast<Vote*>(brought[lane])->agreed = agreed;
    static_cast<Vote*>(brought[lane])->lanes = lanes;
  }
  return 0;
}

OB_TWIN_INLINE Vote vote(unsigned mask, const char* what, bool predicate) {
  Vote part{predicate, 0, 0};
  meet(mask, what, part, resolve_vote);
  return part;
}

template <class T, class Operation>
OB_TWIN_UNSEEN unsigned resolve_reduction(void* const* brought, unsigned lanes) {
  T total = *static_cast<T*>(brought[__builtin_ctz(lanes)]);
  OB_TWIN_FOR_LANES(lane, lanes & (lanes - 1)) total = Operation::of(total, *static_cast<T*>(brought[lane]));
  OB_TWIN_FOR_LANES(lane, lanes) * static_cast<T*>(brought[lane]) = total;
  return 0;
}

template <class T, class Operation>
OB_TWIN_INLINE T reduce(unsigned mask, const char* what, T value) {
  meet(mask, what, value, resolve_reduction<T, Operation>);
  return value;
}

// The input and the result of a lane in a comparison with all others.
template <class T>
struct Match {
  T value;
  unsigned equal;
  unsigned lanes;
};

// Compares bits, like the hardware: a NaN equals itself.
template <class T>
OB_TWIN_UNSEEN unsigned resolve_match(void* const* brought, unsigned lanes) {
  OB_TWIN_FOR_LANES(lane, lanes) {
    Match<T>* part = static_cast<Match<T>*>(brought[lane]);
    part->lanes = lanes;
    for (unsigned other = 0; other < 32; ++other) {
      if ((lanes >> other & 1) == 0) continue;
      const bool equal = __builtin_memcmp(&part->value, &static_cast<Match<T>*>(brought[other])->value, sizeof(T)) == 0;
      part->equal |= static_cast<unsigned>(equal) << other;
    }
  }
  return 0;
}

template <class T>
OB_TWIN_INLINE Match<T> match(unsigned mask, const char* what, T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a match compares values of 4 or 8 bytes");
  Match<T> part{value, 0, 0};
  meet(mask, what, part, resolve_match<T>);
  return part;
}

#define OB_TWIN_OPERATION(name, expression) \
  struct name {                             \
    template <class T>                      \
    OB_TWIN_UNSEEN static T of(T a, T b) {  \
      return expression;                    \
    }                                       \
  };
OB_TWIN_OPERATION(Add, a + b)
OB_TWIN_OPERATION(Smaller, b < a ? b : a)
OB_TWIN_OPERATION(Greater, a < b ? b : a)
OB_TWIN_OPERATION(And, a& b)
OB_TWIN_OPERATION(Or, a | b)
OB_TWIN_OPERATION(ExclusiveOr, a ^ b)
#undef OB_TWIN_OPERATION

}  // namespace opbridge_twin

OB_TWIN_INLINE void __syncwarp(unsigned mask = 0xffffffffu) {
  const opbridge_twin::Pause pause;
  ob_twin_sync_warp(pause.thread, mask);
}

OB_TWIN_INLINE unsigned __activemask() {
  const opbridge_twin::Pause pause;
  return ob_twin_converged(pause.thread);
}

template <class T>
OB_TWIN_INLINE opbridge_twin::Shuffled<T> __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  const int lane = opbridge_twin::this_lane();
  return opbridge_twin::shuffle(mask, "__shfl_sync", value, (lane & -width) | (source & (width - 1)));
}

// Beyond the end of its part of the warp a lane keeps its own value.
template <class T>
OB_TWIN_INLINE opbridge_twin::Shuffled<T> __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = opbridge_twin::this_lane();
  const int source = lane - static_cast<int>(delta);
  return opbridge_twin::shuffle(mask, "__shfl_up_sync", value, source < (lane & -width) ? lane : source);
}

template <class T>
OB_TWIN_INLINE opbridge_twin::Shuffled<T> __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = opbridge_twin::this_lane();
  const int source = lane + static_cast<int>(delta);
  return opbridge_twin::shuffle(mask, "__shfl_down_sync", value, source > (lane | (width - 1)) ? lane : source);
}

template <class T>
OB_TWIN_INLINE opbridge_twin::Shuffled<T> __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
  const int lane = opbridge_twin::this_lane();
  const int source = lane ^ lane_mask;
  return opbridge_twin::shuffle(mask, "__shfl_xor_sync", value, source > (lane | (width - 1)) ? lane : source);
}

OB_TWIN_INLINE unsigned __ballot_sync(unsigned mask, int predicate) {
  return opbridge_twin::vote(mask, "__ballot_sync", predicate != 0).agreed;
}
OB_TWIN_INLINE int __any_sync(unsigned mask, int predicate) {
  return opbridge_twin::vote(mask, "__any_sync", predicate != 0).agreed != 0;
}
OB_TWIN_INLINE int __all_sync(unsigned mask, int predicate) {
  const opbridge_twin::Vote vote = opbridge_twin::vote(mask, "__all_sync", predicate != 0);
  return vote.agreed == vote.lanes;
}
OB_TWIN_INLINE int __uni_sync(unsigned mask, int predicate) {
  const opbridge_twin::Vote vote = opbridge_twin::vote(mask, "__uni_sync", predicate != 0);
  return vote.agreed == 0 || vote.agreed == vote.lanes;
}

template <class T>
OB_TWIN_INLINE unsigned __match_any_sync(unsigned mask, T value) {
  return opbridge_twin::match(mask, "__match_any_sync", value).equal;
}
template <class T>
OB_TWIN_INLINE unsigned __match_all_sync(unsigned mask, T value, int* all) {
  const auto match = opbridge_twin::match(mask, "__match_all_sync", value);
  *all = match.equal == match.lanes;
  return *all ? match.equal : 0;
}

#define OB_TWIN_REDUCE(name, type, operation)                                         \
  OB_TWIN_INLINE type name(unsigned mask, type value) {                               \
    return opbridge_twin::reduce<type, opbridge_twin::operation>(mask, #name, value); \
  }
OB_TWIN_REDUCE(__reduce_add_sync, unsigned, Add)
OB_TWIN_REDUCE(__reduce_add_sync, int, Add)
OB_TWIN_REDUCE(__reduce_min_sync, unsigned, Smaller)
OB_TWIN_REDUCE(__reduce_min_sync, int, Smaller)
OB_TWIN_REDUCE(__reduce_max_sync, unsigned, Greater)
OB_TWIN_REDUCE(__reduce_max_sync, int, Greater)
OB_TWIN_REDUCE(__reduce_and_sync, unsigned, And)
OB_TWIN_REDUCE(__reduce_or_sync, unsigned, Or)
OB_TWIN_REDUCE(__reduce_xor_sync, unsigned, ExclusiveOr)
#undef OB_TWIN_REDUCE

#endif

// ob::sum, maximum, minimum and reduce: reductions on the calling thread, as vector code.
//
//   const T mean = ob::sum(width, [=](int64_t j) { return row[j]; }) / width;
//
// A running value forces the compiler to add one element after the other.  These functions keep many partial values:
// their number and the order in which they are combined depend only on the type and on n.
#ifndef OPBRIDGE_REDUCE_H
#define OPBRIDGE_REDUCE_H

#include <opbridge/half.h>

// Iterations are independent by definition; the pragma saves g++ checks for overlap at run time.  Clang would also warn
// about each loop that it cannot vectorise.
#if defined(__clang__)
#define OB_INDEPENDENT
#else
#define OB_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace ob {
namespace [[gnu::visibility("hidden")]] detail {

// Fills four AVX-512 registers, since an addition waits four cycles for the previous one; types other than plain
// numbers use one value.
template <class R>
constexpr int64_t running_values = !std::is_arithmetic<R>::value ? 1
                                   : sizeof(R) >= 8              ? 32
                                                                 : 64;

// Combines map(begin) to map(end - 1), at least one value.
template <class R, class Map, class Combine>
OB_ALWAYS_INLINE R reduce_range(int64_t begin, int64_t end, const Map& map, const Combine& combine) {
  constexpr int64_t lanes = running_values<R>;
  if constexpr (lanes == 1) {
    R total = map(begin);
    for (int64_t i = begin + 1; i < end; ++i) total = combine(total, map(i));
    return total;
  } else {
    R lane[lanes];
    int64_t used = end - begin < lanes ? end - begin : lanes;
    OB_INDEPENDENT
    for (int64_t k = 0; k < used; ++k) lane[k] = map(begin + k);
    int64_t i = begin + used;
    for (; end - i >= lanes; i += lanes) {
      OB_INDEPENDENT
      for (int64_t k = 0; k < lanes; ++k) lane[k] = combine(lane[k], map(i + k));
    }
    OB_INDEPENDENT
    for (int64_t k = 0; k < end - i; ++k) lane[k] = combine(lane[k], map(i + k));
    while (used > 1) {
      const int64_t half = (used + 1) / 2;
      OB_INDEPENDENT
      for (int64_t k = half; k < used; ++k) lane[k - half] = combine(lane[k - half], lane[k]);
      used = half;
    }
    return lane[0];
  }
}

}  // namespace detail

// combine(init, map(0), ..., map(n - 1)) of a `combine` that is associative and, for arithmetic types, commutative.
// `map` may also write its value to a separate element.
template <class R, class Map, class Combine>
OB_ALWAYS_INLINE R reduce(int64_t n, R init, const Map& map, const Combine& combine) {
  return n > 0 ? static_cast<R>(combine(init, detail::reduce_range<R>(0, n, map, combine))) : init;
}

namespace [[gnu::visibility("hidden")]] detail {

template <class Map>
using Term = opmath<std::decay_t<decltype(std::declval<const Map&>()(int64_t{}))>>;

}  // namespace detail

// map(0) + ... + map(n - 1); the sum of halves is a float.
template <class Map>
OB_ALWAYS_INLINE detail::Term<Map> sum(int64_t n, const Map& map) {
  using R = detail::Term<Map>;
  return reduce(n, R(0), map, [](R a, R b) { return R(a + b); });
}

// The largest of map(0) to map(n - 1); NaN if one of them is NaN; the least value of the type, -infinity for floats, if
// n is 0.
template <class Map>
OB_ALWAYS_INLINE detail::Term<Map> maximum(int64_t n, const Map& map) {
  using R = detail::Term<Map>;
  using Limits = std::numeric_limits<R>;
  constexpr R least = Limits::has_infinity ? R(-Limits::infinity()) : Limits::lowest();
  return reduce(n, least, map, [](R a, R b) {
    const R larger = a < b ? b : a;
    return b != b ? b : larger;
  });
}

// The smallest of map(0) to map(n - 1); NaN if one of them is NaN; the greatest value of the type if n is 0.
template <class Map>
OB_ALWAYS_INLINE detail::Term<Map> minimum(int64_t n, const Map& map) {
  using R = detail::Term<Map>;
  using Limits = std::numeric_limits<R>;
  constexpr R largest = Limits::has_infinity ? Limits::infinity() : Limits::max();
  return reduce(n, largest, map, [](R a, R b) {
    const R smaller = b < a ? b : a;
    return b != b ? b : smaller;
  });
}

}  // namespace ob
#endif

// dst = f(src...) over memory without gaps, for f that take each element by itself.
#ifndef OPBRIDGE_ASCEND_ELEMENTS_H
#define OPBRIDGE_ASCEND_ELEMENTS_H

#include <opbridge/halves.h>

#include <type_traits>

#include "qualifiers.h"

namespace AscendC {
namespace detail {

// A half that is held as the float it is equal to.  What is computed of two is a float, rounded when it becomes one
// again.
class WideHalf {
 public:
  explicit WideHalf(float value) : value_(half(value)) {}
  explicit WideHalf(half value) : value_(value) {}
  // From a float that a half represents exactly.
  static WideHalf exactly(float value) { return WideHalf(value, 0); }

  operator float() const { return value_; }
  WideHalf operator-() const { return exactly(-value_); }

 private:
  WideHalf(float value, int) : value_(value) {}

  float value_;
};

// What an element is held as while it is computed with, and the other way round.
template <class T>
using Wide = std::conditional_t<std::is_same<T, half>::value, WideHalf, T>;
template <class T>
using Stored = std::conditional_t<std::is_same<T, WideHalf>::value, half, T>;

// As many as an instruction takes at a time, and as fit the nearest cache.
constexpr uint32_t kPiece = 128;

// Some elements of an operand, in the form that f takes them.
template <class T>
struct Piece {
  Piece(const T* from, uint32_t) : from_(from) {}
  T operator[](uint32_t i) const { return from_[i]; }

 private:
  const T* from_;
};
template <>
struct Piece<half> {
  Piece(const half* from, uint32_t n) { ob::detail::widen(from, wide_, n); }
  WideHalf operator[](uint32_t i) const { return WideHalf::exactly(wide_[i]); }

 private:
  float wide_[kPiece];
};

#ifdef OB_HALVES_AT_ONCE
// Whether halves become floats once, and not in every operation of f.
template <class F, class D, class... S>
constexpr bool in_pieces() {
  if constexpr ((std::is_same<D, half>::value || ... || std::is_same<S, half>::value) &&
                std::is_invocable<const F&, Wide<S>...>::value) {
    return sizeof...(S) > 0 && !std::is_same<std::invoke_result_t<const F&, Wide<S>...>, half>::value;
  }
  return false;
}
#else
template <class F, class D, class... S>
constexpr bool in_pieces() {
  return false;
}
#endif

template <class F, class D, class... S>
void piece(const F& f, uint32_t n, D* to, const Piece<S>&... from) {
  if constexpr (std::is_same<D, half>::value) {
    float wide[kPiece];
    for (uint32_t i = 0; i < n; ++i) wide[i] = static_cast<float>(f(from[i]...));
    ob::detail::narrow(wide, to, n);
  } else {
    for (uint32_t i = 0; i < n; ++i) to[i] = static_cast<D>(f(from[i]...));
  }
}

template <class F, class D, class... S>
void elements(const F& f, uint32_t n, D* to, const S*... from) {
  if constexpr (in_pieces<F, D, S...>()) {
    uint32_t i = 0;
    for (; i + kPiece <= n; i += kPiece) piece(f, kPiece, to + i, Piece<S>(from + i, kPiece)...);
    piece(f, n - i, to + i, Piece<S>(from + i, n - i)...);
  } else {
    for (uint32_t i = 0; i < n; ++i) to[i] = static_cast<D>(f(from[i]...));
  }
}

}  // namespace detail
}  // namespace AscendC
#endif

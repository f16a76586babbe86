// Vector instructions that compute each element by itself.
#ifndef OPBRIDGE_ASCEND_VECTOR_H
#define OPBRIDGE_ASCEND_VECTOR_H

#include <math.h>
#include <string.h>

#include <type_traits>

#include "lanes.h"

namespace AscendC {
namespace detail {

template <class T>
using Math = ob::opmath<T>;

// Bits, whatever their type.
template <class T>
using Bits = std::conditional_t<
    sizeof(T) == 1, uint8_t,
    std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;

template <class T, class F>
T on_bits(F f, T a, T b) {
  Bits<T> x, y;
  memcpy(&x, &a, sizeof x);
  memcpy(&y, &b, sizeof y);
  const auto z = static_cast<Bits<T>>(f(x, y));
  T result;
  memcpy(&result, &z, sizeof result);
  return result;
}

}  // namespace detail

// The name, what it does to a and b, and the three ways to call it.
#define OPBRIDGE_ASCEND_BINARY(Name, result)                                                                         \
  namespace detail {                                                                                                 \
  struct Name##Operation {                                                                                           \
    static constexpr const char* name = #Name;                                                                       \
    template <class T>                                                                                               \
    static T apply(T a, T b) {                                                                                       \
      return T(result);                                                                                              \
    }                                                                                                                \
  };                                                                                                                 \
  }                                                                                                                  \
  template <class T>                                                                                                 \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int32_t& count, \
            Place at = Place::here()) {                                                                              \
    Instruction instruction(#Name, PIPE_V, at);                                                                      \
    detail::binary(                                                                                                  \
        instruction, detail::Lanes::first(instruction, count), [](T a, T b) { return T(result); },                   \
        detail::Strided<T>{dst}, detail::Strided<T>{src0}, detail::Strided<T>{src1});                                \
  }                                                                                                                  \
  template <class T, bool isSetMask = true>                                                                          \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, detail::Mask mask,    \
            int32_t repeats, const BinaryRepeatParams& p, Place at = Place::here()) {                                \
    Instruction instruction(#Name, PIPE_V, at);                                                                      \
    detail::binary(                                                                                                  \
        instruction, detail::repeated<isSetMask>(instruction, mask, repeats, sizeof(T)),                             \
        [](T a, T b) { return T(result); }, detail::Strided<T>{dst, p.dstBlkStride, p.dstRepStride},                 \
        detail::Strided<T>{src0, p.src0BlkStride, p.src0RepStride},                                                  \
        detail::Strided<T>{src1, p.src1BlkStride, p.src1RepStride});                                                 \
  }

OPBRIDGE_ASCEND_BINARY(Add, a + b)
OPBRIDGE_ASCEND_BINARY(Sub, a - b)
OPBRIDGE_ASCEND_BINARY(Mul, a* b)
OPBRIDGE_ASCEND_BINARY(Div, a / b)
OPBRIDGE_ASCEND_BINARY(Max, a < b ? b : a)
OPBRIDGE_ASCEND_BINARY(Min, b < a ? b : a)
OPBRIDGE_ASCEND_BINARY(And, detail::on_bits([](auto x, auto y) { return x & y; }, a, b))
OPBRIDGE_ASCEND_BINARY(Or, detail::on_bits([](auto x, auto y) { return x | y; }, a, b))
OPBRIDGE_ASCEND_BINARY(AddRelu, T(a + b) < T(0) ? T(0) : T(a + b))
OPBRIDGE_ASCEND_BINARY(SubRelu, T(a - b) < T(0) ? T(0) : T(a - b))
#undef OPBRIDGE_ASCEND_BINARY

#define OPBRIDGE_ASCEND_SCALAR(Name, result)                                                                  \
  template <class T>                                                                                          \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, detail::Exactly<T> b, const int32_t& count, \
            Place at = Place::here()) {                                                                       \
    Instruction instruction(#Name, PIPE_V, at);                                                               \
    detail::unary(                                                                                            \
        instruction, detail::Lanes::first(instruction, count), [b](T a) { return T(result); },                \
        detail::Strided<T>{dst}, detail::Strided<T>{src});                                                    \
  }                                                                                                           \
  template <class T, bool isSetMask = true>                                                                   \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, detail::Exactly<T> b, detail::Mask mask,    \
            int32_t repeats, const UnaryRepeatParams& p, Place at = Place::here()) {                          \
    Instruction instruction(#Name, PIPE_V, at);                                                               \
    detail::unary(                                                                                            \
        instruction, detail::repeated<isSetMask>(instruction, mask, repeats, sizeof(T)),                      \
        [b](T a) { return T(result); }, detail::Strided<T>{dst, p.dstBlkStride, p.dstRepStride},              \
        detail::Strided<T>{src, p.srcBlkStride, p.srcRepStride});                                             \
  }

OPBRIDGE_ASCEND_SCALAR(Adds, a + b)
OPBRIDGE_ASCEND_SCALAR(Muls, a* b)
OPBRIDGE_ASCEND_SCALAR(Maxs, a < b ? b : a)
OPBRIDGE_ASCEND_SCALAR(Mins, b < a ? b : a)
OPBRIDGE_ASCEND_SCALAR(LeakyRelu, a < T(0) ? T(a * b) : a)
OPBRIDGE_ASCEND_SCALAR(ShiftLeft, static_cast<std::make_unsigned_t<T>>(a) << b)
// Keeps the sign of signed types.
OPBRIDGE_ASCEND_SCALAR(ShiftRight, a >> b)
#undef OPBRIDGE_ASCEND_SCALAR

#define OPBRIDGE_ASCEND_UNARY(Name, result)                                                                            \
  template <class T>                                                                                                   \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count, Place at = Place::here()) {    \
    Instruction instruction(#Name, PIPE_V, at);                                                                        \
    detail::unary(                                                                                                     \
        instruction, detail::Lanes::first(instruction, count), [](T a) { return T(result); }, detail::Strided<T>{dst}, \
        detail::Strided<T>{src});                                                                                      \
  }                                                                                                                    \
  template <class T, bool isSetMask = true>                                                                            \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, detail::Mask mask, int32_t repeats,                  \
            const UnaryRepeatParams& p, Place at = Place::here()) {                                                    \
    Instruction instruction(#Name, PIPE_V, at);                                                                        \
    detail::unary(                                                                                                     \
        instruction, detail::repeated<isSetMask>(instruction, mask, repeats, sizeof(T)),                               \
        [](T a) { return T(result); }, detail::Strided<T>{dst, p.dstBlkStride, p.dstRepStride},                        \
        detail::Strided<T>{src, p.srcBlkStride, p.srcRepStride});                                                      \
  }

OPBRIDGE_ASCEND_UNARY(Abs, a < T(0) ? T(-a) : a)
OPBRIDGE_ASCEND_UNARY(Exp, exp(detail::Math<T>(a)))
OPBRIDGE_ASCEND_UNARY(Ln, log(detail::Math<T>(a)))
OPBRIDGE_ASCEND_UNARY(Sqrt, sqrt(detail::Math<T>(a)))
OPBRIDGE_ASCEND_UNARY(Rsqrt, 1 / sqrt(detail::Math<T>(a)))
OPBRIDGE_ASCEND_UNARY(Reciprocal, 1 / detail::Math<T>(a))
OPBRIDGE_ASCEND_UNARY(Relu, a < T(0) ? T(0) : a)
OPBRIDGE_ASCEND_UNARY(Not, detail::on_bits([](auto x, auto) { return ~x; }, a, a))
#undef OPBRIDGE_ASCEND_UNARY

// dst = src0 * src1 + dst
template <class T>
void MulAddDst(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int32_t& count,
               Place at = Place::here()) {
  Instruction instruction("MulAddDst", PIPE_V, at);
  const auto lanes = detail::Lanes::first(instruction, count);
  const detail::Strided<T> sum{dst}, a{src0}, b{src1};
  detail::reads(instruction, lanes, a, "src0");
  detail::reads(instruction, lanes, b, "src1");
  detail::reads(instruction, lanes, sum, "dst");
  detail::writes(instruction, lanes, sum, "dst");
  detail::compute(lanes, [](T old, T x, T y) { return T(T(x * y) + old); }, sum, sum, a, b);
}

template <class T, class U>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, U scalar, const int32_t& count,
          Place at = Place::here()) {
  Instruction instruction("Axpy", PIPE_V, at);
  const auto lanes = detail::Lanes::first(instruction, count);
  detail::binary(
      instruction, lanes, [scalar](T sum, U x) { return T(T(x) * T(scalar) + sum); }, detail::Strided<T>{dst},
      detail::Strided<T>{dst}, detail::Strided<U>{src});
}
template <class T, class U, bool isSetMask = true>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, U scalar, detail::Mask mask, int32_t repeats,
          const UnaryRepeatParams& p, Place at = Place::here()) {
  Instruction instruction("Axpy", PIPE_V, at);
  const auto lanes = detail::repeated<isSetMask>(instruction, mask, repeats, detail::widest<T, U>());
  const detail::Strided<T> sum{dst, p.dstBlkStride, p.dstRepStride};
  detail::binary(
      instruction, lanes, [scalar](T old, U x) { return T(T(x) * T(scalar) + old); }, sum, sum,
      detail::Strided<U>{src, p.srcBlkStride, p.srcRepStride});
}

template <class T>
void Duplicate(const LocalTensor<T>& dst, detail::Exactly<T> scalar, const int32_t& count, Place at = Place::here()) {
  Instruction instruction("Duplicate", PIPE_V, at);
  const auto lanes = detail::Lanes::first(instruction, count);
  detail::writes(instruction, lanes, detail::Strided<T>{dst}, "dst");
  detail::compute(lanes, [scalar] { return scalar; }, detail::Strided<T>{dst});
}
template <class T, bool isSetMask = true>
void Duplicate(const LocalTensor<T>& dst, detail::Exactly<T> scalar, detail::Mask mask, int32_t repeats,
               uint32_t dstBlkStride, uint32_t dstRepStride, Place at = Place::here()) {
  Instruction instruction("Duplicate", PIPE_V, at);
  const auto lanes = detail::repeated<isSetMask>(instruction, mask, repeats, sizeof(T));
  const detail::Strided<T> to{dst, dstBlkStride, dstRepStride};
  detail::counted_in_8_bits(instruction, to, "dstRepStride");
  detail::writes(instruction, lanes, to, "dst");
  detail::compute(lanes, [scalar] { return scalar; }, to);
}

// dst = src0 op src1, as the assignment of an expression to a tensor.
template <class Operation, class T>
struct Expression {
  LocalTensor<T> src0, src1;

  void into(const LocalTensor<T>& dst) const {
    Instruction instruction(Operation::name, PIPE_V, {nullptr, 0});
    detail::binary(instruction, detail::Lanes::first(instruction, dst.GetSize()), Operation::template apply<T>,
                   detail::Strided<T>{dst}, detail::Strided<T>{src0}, detail::Strided<T>{src1});
  }
};

#define OPBRIDGE_ASCEND_OPERATOR(mark, Name)                                                               \
  template <class T>                                                                                       \
  Expression<detail::Name##Operation, T> operator mark(const LocalTensor<T>& a, const LocalTensor<T>& b) { \
    return {a, b};                                                                                         \
  }
OPBRIDGE_ASCEND_OPERATOR(+, Add)
OPBRIDGE_ASCEND_OPERATOR(-, Sub)
OPBRIDGE_ASCEND_OPERATOR(*, Mul)
OPBRIDGE_ASCEND_OPERATOR(/, Div)
OPBRIDGE_ASCEND_OPERATOR(&, And)
OPBRIDGE_ASCEND_OPERATOR(|, Or)
#undef OPBRIDGE_ASCEND_OPERATOR

}  // namespace AscendC
#endif

// Vector instructions that compute each element by itself.
#ifndef OPBRIDGE_ASCEND_VECTOR_H
#define OPBRIDGE_ASCEND_VECTOR_H

#include <math.h>
#include <string.h>

#include <type_traits>

#include "lanes.h"
#include "types.h"

namespace AscendC {
namespace detail {

template <class T>
using Math = ob::opmath<Stored<T>>;

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

// dst = f(old, a, b), where old is what stands in dst.
template <class F, class T, class U>
void fused(Instruction& instruction, const Lanes& lanes, F f, const Strided<T>& dst, const Strided<U>& src0,
           const Strided<U>& src1) {
  Unknown unknown;
  unknown.look(instruction, lanes, src0, "src0");
  unknown.look(instruction, lanes, src1, "src1");
  unknown.look(instruction, lanes, dst, "dst");
  writes(instruction, lanes, dst, "dst");
  const auto widened = [f](auto old, auto a, auto b) { return f(old, decltype(old)(a), decltype(old)(b)); };
  compute(lanes, widened, dst, dst, src0, src1);
  unknown.spread(instruction, lanes, dst);
}

template <class T, class U>
void axpy(Instruction& instruction, const Lanes& lanes, const Strided<T>& dst, const Strided<U>& src, U scalar) {
  instruction.takes(scalar);
  Unknown unknown;
  unknown.look(instruction, lanes, src, "src");
  unknown.look(instruction, lanes, dst, "dst");
  writes(instruction, lanes, dst, "dst");
  compute(lanes, [scalar](T old, U x) { return T(T(x) * T(scalar) + old); }, dst, dst, src);
  unknown.spread(instruction, lanes, dst);
}

// What each element becomes is an Operation: its name, the element types it takes, and a call for one element.  Sources
// are read, and the destination is written.
template <class Operation, class D, class... S>
void elementwise(Instruction& instruction, const Lanes& lanes, const Operation& operation, const Strided<D>& dst,
                 const Strided<S>&... src) {
  Operation::template takes<D, S...>();
  if constexpr (requires { operation.scalar; }) instruction.takes(operation.scalar);
  if constexpr (Operation::kReadsDestination) {
    fused(instruction, lanes, operation, dst, src...);
  } else if constexpr (sizeof...(S) == 1) {
    unary(instruction, lanes, operation, dst, src...);
  } else {
    binary(instruction, lanes, operation, dst, src...);
  }
}

// The two forms of a call: the first `count` elements, and repeats under a mask.
template <class Operation, class D, class... S>
void over_first(const Operation& operation, Place at, int32_t count, const LocalTensor<D>& dst,
                const LocalTensor<S>&... src) {
  Instruction instruction(Operation::name, PIPE_V, at);
  elementwise(instruction, Lanes::first(instruction, count), operation, Strided<D>{dst}, Strided<S>{src}...);
}

template <bool isSetMask, class Operation, class D, class S>
void over_repeats(const Operation& operation, Place at, const Mask& mask, int32_t repeats, const UnaryRepeatParams& p,
                  const LocalTensor<D>& dst, const LocalTensor<S>& src) {
  Instruction instruction(Operation::name, PIPE_V, at);
  elementwise(instruction, repeated<isSetMask>(instruction, mask, repeats, widest<D, S>()), operation,
              Strided<D>{dst, p.dstBlkStride, p.dstRepStride}, Strided<S>{src, p.srcBlkStride, p.srcRepStride});
}
template <bool isSetMask, class Operation, class D, class S>
void over_repeats(const Operation& operation, Place at, const Mask& mask, int32_t repeats, const BinaryRepeatParams& p,
                  const LocalTensor<D>& dst, const LocalTensor<S>& src0, const LocalTensor<S>& src1) {
  Instruction instruction(Operation::name, PIPE_V, at);
  elementwise(instruction, repeated<isSetMask>(instruction, mask, repeats, widest<D, S>()), operation,
              Strided<D>{dst, p.dstBlkStride, p.dstRepStride}, Strided<S>{src0, p.src0BlkStride, p.src0RepStride},
              Strided<S>{src1, p.src1BlkStride, p.src1RepStride});
}

// An operation of a and b, where b is one number for all elements.
template <class Operation, class Scalar>
struct WithScalar {
  static constexpr const char* name = Operation::name;
  static constexpr bool kReadsDestination = false;
  template <class D, class S>
  static constexpr void takes() {
    Operation::template takes<D, S>();
  }
  template <class T>
  auto operator()(T a) const {
    return Operation()(a, T(scalar));
  }
  Scalar scalar;
};

}  // namespace detail

// `takes` is a static_assert on D, the element type of the destination, and S, that of the sources.
#define OPBRIDGE_ASCEND_OPERATION(Name, reads_destination, parameters, result, ...) \
  namespace detail {                                                                \
  struct Name##Operation {                                                          \
    static constexpr const char* name = #Name;                                      \
    static constexpr bool kReadsDestination = reads_destination;                    \
    template <class D, class S, class...>                                           \
    static constexpr void takes() {                                                 \
      __VA_ARGS__;                                                                  \
    }                                                                               \
    template <class T>                                                              \
    auto operator() parameters const {                                              \
      return result;                                                                \
    }                                                                               \
  };                                                                                \
  }

// The name, what it makes of a and b, and the types it takes.
#define OPBRIDGE_ASCEND_BINARY(Name, result, ...)                                                                    \
  OPBRIDGE_ASCEND_OPERATION(Name, false, (T a, T b), result, OPBRIDGE_ASCEND_TYPES(#Name, D, __VA_ARGS__))           \
  template <class T>                                                                                                 \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int32_t& count, \
            Place at = Place::here()) {                                                                              \
    detail::over_first(detail::Name##Operation(), at, count, dst, src0, src1);                                       \
  }                                                                                                                  \
  template <class T, bool isSetMask = true>                                                                          \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, detail::Mask mask,    \
            int32_t repeats, const BinaryRepeatParams& p, Place at = Place::here()) {                                \
    detail::over_repeats<isSetMask>(detail::Name##Operation(), at, mask, repeats, p, dst, src0, src1);               \
  }

OPBRIDGE_ASCEND_BINARY(Add, a + b, half, int16_t, float, int32_t)
OPBRIDGE_ASCEND_BINARY(Sub, a - b, half, int16_t, float, int32_t)
OPBRIDGE_ASCEND_BINARY(Mul, a* b, half, int16_t, float, int32_t)
OPBRIDGE_ASCEND_BINARY(Div, a / b, half, float)
OPBRIDGE_ASCEND_BINARY(Max, a < b ? b : a, half, int16_t, float, int32_t)
OPBRIDGE_ASCEND_BINARY(Min, b < a ? b : a, half, int16_t, float, int32_t)
// Also for bytes: the documents do not list them, but the compiler accepts them and kernels use them.
OPBRIDGE_ASCEND_BINARY(And, detail::on_bits([](auto x, auto y) { return x & y; }, a, b), int16_t, uint16_t, int8_t,
                       uint8_t)
OPBRIDGE_ASCEND_BINARY(Or, detail::on_bits([](auto x, auto y) { return x | y; }, a, b), int16_t, uint16_t, int8_t,
                       uint8_t)
OPBRIDGE_ASCEND_BINARY(AddRelu, T(a + b) < T(0) ? T(0) : T(a + b), half, int16_t, float)
OPBRIDGE_ASCEND_BINARY(SubRelu, T(a - b) < T(0) ? T(0) : T(a - b), half, int16_t, float)
#undef OPBRIDGE_ASCEND_BINARY

#define OPBRIDGE_ASCEND_SCALAR(Name, result, ...)                                                                      \
  OPBRIDGE_ASCEND_OPERATION(Name, false, (T a, T b), result, OPBRIDGE_ASCEND_TYPES(#Name, D, __VA_ARGS__))             \
  template <class T>                                                                                                   \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, detail::Exactly<T> scalar, const int32_t& count,     \
            Place at = Place::here()) {                                                                                \
    detail::over_first(detail::WithScalar<detail::Name##Operation, T>{scalar}, at, count, dst, src);                   \
  }                                                                                                                    \
  template <class T, bool isSetMask = true>                                                                            \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, detail::Exactly<T> scalar, detail::Mask mask,        \
            int32_t repeats, const UnaryRepeatParams& p, Place at = Place::here()) {                                   \
    detail::over_repeats<isSetMask>(detail::WithScalar<detail::Name##Operation, T>{scalar}, at, mask, repeats, p, dst, \
                                    src);                                                                              \
  }

OPBRIDGE_ASCEND_SCALAR(Adds, a + b, half, int16_t, float, int32_t)
OPBRIDGE_ASCEND_SCALAR(Muls, a* b, half, int16_t, float, int32_t)
OPBRIDGE_ASCEND_SCALAR(Maxs, a < b ? b : a, half, int16_t, float, int32_t)
OPBRIDGE_ASCEND_SCALAR(Mins, b < a ? b : a, half, int16_t, float, int32_t)
OPBRIDGE_ASCEND_SCALAR(LeakyRelu, a < T(0) ? T(a * b) : a, half, float)
OPBRIDGE_ASCEND_SCALAR(ShiftLeft, static_cast<std::make_unsigned_t<T>>(a) << b, uint16_t, uint32_t, int16_t, int32_t)
// Keeps the sign of signed types.
OPBRIDGE_ASCEND_SCALAR(ShiftRight, a >> b, uint16_t, uint32_t, int16_t, int32_t)
// Adds the last bit that falls off, where it is asked to round.
template <class T, bool isSetMask = true>
void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src, detail::Exactly<T> b, detail::Mask mask,
                int32_t repeats, const UnaryRepeatParams& p, bool roundEn, Place at = Place::here()) {
  if (!roundEn) return ShiftRight<T, isSetMask>(dst, src, b, mask, repeats, p, at);
  OPBRIDGE_ASCEND_TYPES("ShiftRight that rounds", T, int16_t, int32_t);
  Instruction instruction("ShiftRight", PIPE_V, at);
  detail::unary(
      instruction, detail::repeated<isSetMask>(instruction, mask, repeats, sizeof(T)),
      [b](T a) { return b == 0 ? a : T((a >> b) + (a >> (b - 1) & 1)); },
      detail::Strided<T>{dst, p.dstBlkStride, p.dstRepStride}, detail::Strided<T>{src, p.srcBlkStride, p.srcRepStride});
}
#undef OPBRIDGE_ASCEND_SCALAR

#define OPBRIDGE_ASCEND_UNARY(Name, result, ...)                                                                    \
  OPBRIDGE_ASCEND_OPERATION(Name, false, (T a), result, OPBRIDGE_ASCEND_TYPES(#Name, D, __VA_ARGS__))               \
  template <class T>                                                                                                \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count, Place at = Place::here()) { \
    detail::over_first(detail::Name##Operation(), at, count, dst, src);                                             \
  }                                                                                                                 \
  template <class T, bool isSetMask = true>                                                                         \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, detail::Mask mask, int32_t repeats,               \
            const UnaryRepeatParams& p, Place at = Place::here()) {                                                 \
    detail::over_repeats<isSetMask>(detail::Name##Operation(), at, mask, repeats, p, dst, src);                     \
  }

OPBRIDGE_ASCEND_UNARY(Abs, a > T(0) ? a : T(T(0) - a), half, float)
OPBRIDGE_ASCEND_UNARY(Exp, exp(detail::Math<T>(a)), half, float)
OPBRIDGE_ASCEND_UNARY(Ln, log(detail::Math<T>(a)), half, float)
OPBRIDGE_ASCEND_UNARY(Sqrt, sqrt(detail::Math<T>(a)), half, float)
OPBRIDGE_ASCEND_UNARY(Rsqrt, 1 / sqrt(detail::Math<T>(a)), half, float)
OPBRIDGE_ASCEND_UNARY(Reciprocal, 1 / detail::Math<T>(a), half, float)
OPBRIDGE_ASCEND_UNARY(Relu, a < T(0) ? T(0) : a, half, float, int32_t)
OPBRIDGE_ASCEND_UNARY(Not, detail::on_bits([](auto x, auto) { return ~x; }, a, a), int16_t, uint16_t)
#undef OPBRIDGE_ASCEND_UNARY

// What three operands give, one of which is the destination: dst = result of old, a and b.
#define OPBRIDGE_ASCEND_FUSED(Name, result, ...)                                                                     \
  OPBRIDGE_ASCEND_OPERATION(Name, true, (T old, T a, T b), result, OPBRIDGE_ASCEND_PAIRS(#Name, D, S, __VA_ARGS__))  \
  template <class T, class U>                                                                                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, const int32_t& count, \
            Place at = Place::here()) {                                                                              \
    detail::over_first(detail::Name##Operation(), at, count, dst, src0, src1);                                       \
  }                                                                                                                  \
  template <class T, class U, bool isSetMask = true>                                                                 \
  void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, detail::Mask mask,    \
            int32_t repeats, const BinaryRepeatParams& p, Place at = Place::here()) {                                \
    detail::over_repeats<isSetMask>(detail::Name##Operation(), at, mask, repeats, p, dst, src0, src1);               \
  }
OPBRIDGE_ASCEND_FUSED(MulAddDst, T(a* b) + old, half(half), float(float), float(half))
OPBRIDGE_ASCEND_FUSED(FusedMulAdd, T(a* old) + b, half(half), float(float))
OPBRIDGE_ASCEND_FUSED(FusedMulAddRelu, T(T(a* old) + b) < T(0) ? T(0) : T(T(a * old) + b), half(half), float(float))
#undef OPBRIDGE_ASCEND_FUSED
#undef OPBRIDGE_ASCEND_OPERATION

template <class T, class U>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, detail::Exactly<U> scalar, const int32_t& count,
          Place at = Place::here()) {
  OPBRIDGE_ASCEND_PAIRS("Axpy", T, U, half(half), float(float), float(half));
  Instruction instruction("Axpy", PIPE_V, at);
  detail::axpy(instruction, detail::Lanes::first(instruction, count), detail::Strided<T>{dst}, detail::Strided<U>{src},
               scalar);
}
template <class T, class U, bool isSetMask = true>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, detail::Exactly<U> scalar, detail::Mask mask,
          int32_t repeats, const UnaryRepeatParams& p, Place at = Place::here()) {
  OPBRIDGE_ASCEND_PAIRS("Axpy", T, U, half(half), float(float), float(half));
  Instruction instruction("Axpy", PIPE_V, at);
  detail::axpy(instruction, detail::repeated<isSetMask>(instruction, mask, repeats, detail::widest<T, U>()),
               detail::Strided<T>{dst, p.dstBlkStride, p.dstRepStride},
               detail::Strided<U>{src, p.srcBlkStride, p.srcRepStride}, scalar);
}

template <class T>
void Duplicate(const LocalTensor<T>& dst, detail::Exactly<T> scalar, const int32_t& count, Place at = Place::here()) {
  OPBRIDGE_ASCEND_TYPES("Duplicate", T, half, bfloat16_t, int16_t, uint16_t, int32_t, uint32_t, float);
  Instruction instruction("Duplicate", PIPE_V, at);
  instruction.takes(scalar);
  const auto lanes = detail::Lanes::first(instruction, count);
  detail::writes(instruction, lanes, detail::Strided<T>{dst}, "dst");
  detail::compute(lanes, [scalar] { return scalar; }, detail::Strided<T>{dst});
}
template <class T, bool isSetMask = true>
void Duplicate(const LocalTensor<T>& dst, detail::Exactly<T> scalar, detail::Mask mask, int32_t repeats,
               uint32_t dstBlkStride, uint32_t dstRepStride, Place at = Place::here()) {
  OPBRIDGE_ASCEND_TYPES("Duplicate", T, half, bfloat16_t, int16_t, uint16_t, int32_t, uint32_t, float);
  Instruction instruction("Duplicate", PIPE_V, at);
  instruction.takes(scalar);
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
    const auto count = static_cast<int32_t>(dst.GetSize());
    detail::over_first(Operation(), Place{nullptr, 0}, count, dst, src0, src1);
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

// The high-level functions of one element: computed in float, and rounded once to the type of the tensors.
#ifndef OPBRIDGE_ASCEND_FUNCTIONS_H
#define OPBRIDGE_ASCEND_FUNCTIONS_H

#include <math.h>

#include "vector.h"

namespace AscendC {
namespace detail {

// x to the power of n, where an integer's overflow wraps as its products do.
inline int32_t power(int32_t x, int32_t n) {
  if (n < 0) return x == 1 ? 1 : x == -1 ? (n % 2 != 0 ? -1 : 1) : 0;
  uint32_t result = 1;
  for (auto base = static_cast<uint32_t>(x); n > 0; n >>= 1, base *= base) {
    if (n % 2 != 0) result *= base;
  }
  return static_cast<int32_t>(result);
}
inline float power(float x, float n) { return ::powf(x, n); }
inline half power(half x, half n) { return half(::powf(x, n)); }

inline float sigmoid(float x) { return 1 / (1 + ::expf(-x)); }
inline float gelu(float x) { return x * sigmoid(1.5957691216f * (x + 0.044715f * x * x * x)); }
inline float faster_gelu(float x) { return x * sigmoid(1.702f * x); }
// A polynomial in place of the exponential.
inline float faster_gelu_2(float x) {
  const float inside = ::fminf(::fabsf(0.7071f * x), 1.769f) - 1.769f;
  const float sign = x < 0 ? -1.0f : x > 0 ? 1.0f : 0.0f;
  return x * (sign * (-0.1444f * inside * inside + 0.5f) + 0.5f);
}
inline float gamma_log(float x) {
  int sign;
  return ::lgammaf_r(x, &sign);
}

// An operand that is a tensor or a scalar.
template <class T>
Strided<T> operand(const LocalTensor<T>& tensor) {
  return {tensor};
}
// Replaces a tensor by a number, which is the same for each element.
template <class T>
struct Constant {
  T value;
};
template <class T, class Number>
Constant<T> operand(const Number& number) {
  return {T(number)};
}
template <class T>
void look(Unknown& unknown, Instruction& instruction, const Lanes& lanes, const Strided<T>& tensor, const char* name) {
  unknown.look(instruction, lanes, tensor, name);
}
template <class T>
void look(Unknown&, Instruction&, const Lanes&, const Constant<T>&, const char*) {}
template <class T>
T element(const Constant<T>& constant, uint32_t) {
  return constant.value;
}
template <class T>
T element(const Strided<T>& tensor, uint32_t i) {
  return tensor.tensor.data()[i];
}

// The temporary buffer of a high-level function; how much of it is used is the business of the function.
inline void temporary(const char* function, const LocalTensor<uint8_t>& buffer, Place at) {
  Instruction instruction(function, PIPE_V, at);
  instruction.requires_that(buffer.GetSize() > 0, "the size of sharedTmpBuffer", buffer.GetSize(),
                            "as many bytes as the host's Get...MaxMinTmpSize says");
  scratch(instruction, buffer, buffer.GetSize());
}

template <class F, class T, class A, class B>
void of_two(Instruction& instruction, uint32_t count, F f, const LocalTensor<T>& dst, const A& a, const B& b) {
  const auto lanes = Lanes::first(instruction, count);
  Unknown unknown;
  look(unknown, instruction, lanes, a, "src0");
  look(unknown, instruction, lanes, b, "src1");
  writes(instruction, lanes, Strided<T>{dst}, "dst");
  for (uint32_t i = 0; i < count; ++i) dst.data()[i] = f(element(a, i), element(b, i));
  unknown.spread(instruction, lanes, Strided<T>{dst});
}

}  // namespace detail

// Each in four forms: with and without a temporary buffer, for `count` elements or for all of them.
#define OPBRIDGE_ASCEND_FORMS_OF_ONE(Name)                                                                          \
  template <class T, bool isReuseSource = false>                                                                    \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count, Place at = Place::here()) { \
    Instruction instruction(#Name, PIPE_V, at);                                                                     \
    detail::Name##Function::run(instruction, dst, src, count);                                                      \
  }                                                                                                                 \
  template <class T, bool isReuseSource = false>                                                                    \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& sharedTmpBuffer,      \
            const uint32_t count, Place at = Place::here()) {                                                       \
    detail::temporary(#Name, sharedTmpBuffer, at);                                                                  \
    Instruction instruction(#Name, PIPE_V, at);                                                                     \
    detail::Name##Function::run(instruction, dst, src, count);                                                      \
  }                                                                                                                 \
  template <class T, bool isReuseSource = false>                                                                    \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, Place at = Place::here()) {                       \
    Name(dst, src, src.GetSize(), at);                                                                              \
  }                                                                                                                 \
  template <class T, bool isReuseSource = false>                                                                    \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& sharedTmpBuffer,      \
            Place at = Place::here()) {                                                                             \
    Name(dst, src, sharedTmpBuffer, src.GetSize(), at);                                                             \
  }

#define OPBRIDGE_ASCEND_FUNCTION(Name, result)                                                                        \
  namespace detail {                                                                                                  \
  struct Name##Function {                                                                                             \
    template <class T>                                                                                                \
    static void run(Instruction& instruction, const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count) { \
      OPBRIDGE_ASCEND_TYPES(#Name, T, half, float);                                                                   \
      const auto f = [](T element) {                                                                                  \
        const float x = element;                                                                                      \
        return T(result);                                                                                             \
      };                                                                                                              \
      unary(instruction, Lanes::first(instruction, count), f, Strided<T>{dst}, Strided<T>{src});                      \
    }                                                                                                                 \
  };                                                                                                                  \
  }                                                                                                                   \
  OPBRIDGE_ASCEND_FORMS_OF_ONE(Name)

OPBRIDGE_ASCEND_FUNCTION(Sin, ::sinf(x))
OPBRIDGE_ASCEND_FUNCTION(Cos, ::cosf(x))
OPBRIDGE_ASCEND_FUNCTION(Tan, ::tanf(x))
OPBRIDGE_ASCEND_FUNCTION(Asin, ::asinf(x))
OPBRIDGE_ASCEND_FUNCTION(Acos, ::acosf(x))
OPBRIDGE_ASCEND_FUNCTION(Atan, ::atanf(x))
OPBRIDGE_ASCEND_FUNCTION(Sinh, ::sinhf(x))
OPBRIDGE_ASCEND_FUNCTION(Cosh, ::coshf(x))
OPBRIDGE_ASCEND_FUNCTION(Tanh, ::tanhf(x))
OPBRIDGE_ASCEND_FUNCTION(Asinh, ::asinhf(x))
OPBRIDGE_ASCEND_FUNCTION(Acosh, ::acoshf(x))
OPBRIDGE_ASCEND_FUNCTION(Atanh, ::atanhf(x))
OPBRIDGE_ASCEND_FUNCTION(Erf, ::erff(x))
OPBRIDGE_ASCEND_FUNCTION(Erfc, ::erfcf(x))
OPBRIDGE_ASCEND_FUNCTION(Lgamma, detail::gamma_log(x))
OPBRIDGE_ASCEND_FUNCTION(Log, ::logf(x))
OPBRIDGE_ASCEND_FUNCTION(Log2, ::log2f(x))
OPBRIDGE_ASCEND_FUNCTION(Log10, ::log10f(x))
OPBRIDGE_ASCEND_FUNCTION(Floor, ::floorf(x))
OPBRIDGE_ASCEND_FUNCTION(Ceil, ::ceilf(x))
OPBRIDGE_ASCEND_FUNCTION(Trunc, ::truncf(x))
// Half to even.
OPBRIDGE_ASCEND_FUNCTION(Round, ::rintf(x))
OPBRIDGE_ASCEND_FUNCTION(Frac, x - ::truncf(x))
OPBRIDGE_ASCEND_FUNCTION(Sign, x > 0 ? 1.0f : x < 0 ? -1.0f : x)
OPBRIDGE_ASCEND_FUNCTION(Sigmoid, detail::sigmoid(x))
#undef OPBRIDGE_ASCEND_FUNCTION
#undef OPBRIDGE_ASCEND_FORMS_OF_ONE

// On hardware a Taylor series with as many terms as the level; here as exact as Exp.
template <class T, uint8_t taylorExpandLevel, bool isReuseSource = false>
void Exp(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count, Place at = Place::here()) {
  Exp(dst, src, static_cast<int32_t>(count), at);
}
template <class T, uint8_t taylorExpandLevel, bool isReuseSource = false>
void Exp(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& sharedTmpBuffer,
         const uint32_t count, Place at = Place::here()) {
  detail::temporary("Exp", sharedTmpBuffer, at);
  Exp(dst, src, static_cast<int32_t>(count), at);
}

// Activations of whose forms each has a count.
#define OPBRIDGE_ASCEND_ACTIVATION(Name, result)                                                                    \
  template <class T, bool highPrecision = false, bool highPerformance = false>                                      \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count, Place at = Place::here()) { \
    OPBRIDGE_ASCEND_TYPES(#Name, T, half, float);                                                                   \
    Instruction instruction(#Name, PIPE_V, at);                                                                     \
    const auto f = [](T x) { return T(result); };                                                                   \
    detail::unary(instruction, detail::Lanes::first(instruction, count), f, detail::Strided<T>{dst},                \
                  detail::Strided<T>{src});                                                                         \
  }                                                                                                                 \
  template <class T, bool highPrecision = false, bool highPerformance = false>                                      \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& sharedTmpBuffer,      \
            const uint32_t count, Place at = Place::here()) {                                                       \
    detail::temporary(#Name, sharedTmpBuffer, at);                                                                  \
    Name(dst, src, count, at);                                                                                      \
  }
OPBRIDGE_ASCEND_ACTIVATION(Gelu, detail::gelu(x))
OPBRIDGE_ASCEND_ACTIVATION(FasterGelu, detail::faster_gelu(x))
OPBRIDGE_ASCEND_ACTIVATION(FasterGeluV2, detail::faster_gelu_2(x))
OPBRIDGE_ASCEND_ACTIVATION(Silu, float(x) * detail::sigmoid(x))
#undef OPBRIDGE_ASCEND_ACTIVATION

// x * sigmoid(beta * x)
template <class T, bool isReuseSource = false>
void Swish(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count,
           const detail::Exactly<T> scalarValue, Place at = Place::here()) {
  OPBRIDGE_ASCEND_TYPES("Swish", T, half, float);
  Instruction instruction("Swish", PIPE_V, at);
  const float beta = scalarValue;
  const auto f = [beta](T x) { return T(float(x) * detail::sigmoid(beta * float(x))); };
  detail::unary(instruction, detail::Lanes::first(instruction, count), f, detail::Strided<T>{dst},
                detail::Strided<T>{src});
}

#define OPBRIDGE_ASCEND_CLAMP(Name, result)                                                                    \
  template <class T, bool isReuseSource = false>                                                               \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const detail::Exactly<T> scalar,             \
            const uint32_t count, Place at = Place::here()) {                                                  \
    OPBRIDGE_ASCEND_TYPES(#Name, T, half, float);                                                              \
    Instruction instruction(#Name, PIPE_V, at);                                                                \
    const auto f = [scalar](T x) { return T(result); };                                                        \
    detail::unary(instruction, detail::Lanes::first(instruction, count), f, detail::Strided<T>{dst},           \
                  detail::Strided<T>{src});                                                                    \
  }                                                                                                            \
  template <class T, bool isReuseSource = false>                                                               \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& sharedTmpBuffer, \
            const detail::Exactly<T> scalar, const uint32_t count, Place at = Place::here()) {                 \
    detail::temporary(#Name, sharedTmpBuffer, at);                                                             \
    Name(dst, src, scalar, count, at);                                                                         \
  }
OPBRIDGE_ASCEND_CLAMP(ClampMax, scalar < x ? scalar : x)
OPBRIDGE_ASCEND_CLAMP(ClampMin, x < scalar ? scalar : x)
#undef OPBRIDGE_ASCEND_CLAMP

// A function of two tensors; Power also takes a scalar instead of one of them.
#define OPBRIDGE_ASCEND_FUNCTION_OF_TWO(Name, First, Second, result, ...)                                         \
  template <class T, bool isReuseSource = false>                                                                  \
  void Name(const LocalTensor<T>& dst, First src0, Second src1, const uint32_t count, Place at = Place::here()) { \
    OPBRIDGE_ASCEND_TYPES(#Name, T, __VA_ARGS__);                                                                 \
    Instruction instruction(#Name, PIPE_V, at);                                                                   \
    const auto f = [](T a, T b) { return T(result); };                                                            \
    detail::of_two(instruction, count, f, dst, detail::operand<T>(src0), detail::operand<T>(src1));               \
  }                                                                                                               \
  template <class T, bool isReuseSource = false>                                                                  \
  void Name(const LocalTensor<T>& dst, First src0, Second src1, const LocalTensor<uint8_t>& sharedTmpBuffer,      \
            const uint32_t count, Place at = Place::here()) {                                                     \
    detail::temporary(#Name, sharedTmpBuffer, at);                                                                \
    Name(dst, src0, src1, count, at);                                                                             \
  }                                                                                                               \
  template <class T, bool isReuseSource = false>                                                                  \
  void Name(const LocalTensor<T>& dst, First src0, Second src1, Place at = Place::here()) {                       \
    Name(dst, src0, src1, dst.GetSize(), at);                                                                     \
  }                                                                                                               \
  template <class T, bool isReuseSource = false>                                                                  \
  void Name(const LocalTensor<T>& dst, First src0, Second src1, const LocalTensor<uint8_t>& sharedTmpBuffer,      \
            Place at = Place::here()) {                                                                           \
    Name(dst, src0, src1, sharedTmpBuffer, dst.GetSize(), at);                                                    \
  }

#define OPBRIDGE_ASCEND_TENSOR const LocalTensor<T>&
#define OPBRIDGE_ASCEND_NUMBER const detail::Exactly<T>&
OPBRIDGE_ASCEND_FUNCTION_OF_TWO(Power, OPBRIDGE_ASCEND_TENSOR, OPBRIDGE_ASCEND_TENSOR, detail::power(a, b), half, float,
                                int32_t)
OPBRIDGE_ASCEND_FUNCTION_OF_TWO(Power, OPBRIDGE_ASCEND_TENSOR, OPBRIDGE_ASCEND_NUMBER, detail::power(a, b), half, float,
                                int32_t)
OPBRIDGE_ASCEND_FUNCTION_OF_TWO(Power, OPBRIDGE_ASCEND_NUMBER, OPBRIDGE_ASCEND_TENSOR, detail::power(a, b), half, float,
                                int32_t)
OPBRIDGE_ASCEND_FUNCTION_OF_TWO(Fmod, OPBRIDGE_ASCEND_TENSOR, OPBRIDGE_ASCEND_TENSOR, ::fmodf(a, b), half, float)
OPBRIDGE_ASCEND_FUNCTION_OF_TWO(Xor, OPBRIDGE_ASCEND_TENSOR, OPBRIDGE_ASCEND_TENSOR, a ^ b, int16_t, uint16_t)
OPBRIDGE_ASCEND_FUNCTION_OF_TWO(GeGLU, OPBRIDGE_ASCEND_TENSOR, OPBRIDGE_ASCEND_TENSOR, float(a) * detail::gelu(b), half,
                                float)
OPBRIDGE_ASCEND_FUNCTION_OF_TWO(ReGlu, OPBRIDGE_ASCEND_TENSOR, OPBRIDGE_ASCEND_TENSOR, b < T(0) ? T(0) : T(a * b), half,
                                float)
#undef OPBRIDGE_ASCEND_NUMBER
#undef OPBRIDGE_ASCEND_TENSOR
#undef OPBRIDGE_ASCEND_FUNCTION_OF_TWO

// src0 * Swish(src1)
template <class T, bool isReuseSource = false>
void SwiGLU(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const float& scalarValue,
            const uint32_t count, Place at = Place::here()) {
  OPBRIDGE_ASCEND_TYPES("SwiGLU", T, half, float);
  Instruction instruction("SwiGLU", PIPE_V, at);
  const auto f = [beta = scalarValue](T a, T b) { return T(float(a) * float(b) * detail::sigmoid(beta * float(b))); };
  detail::of_two(instruction, count, f, dst, detail::Strided<T>{src0}, detail::Strided<T>{src1});
}
template <class T, bool isReuseSource = false>
void SwiGLU(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const float& scalarValue,
            const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t count, Place at = Place::here()) {
  detail::temporary("SwiGLU", sharedTmpBuffer, at);
  SwiGLU(dst, src0, src1, scalarValue, count, at);
}
template <class T, bool isReuseSource = false>
void SwiGLU(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const float& scalarValue,
            Place at = Place::here()) {
  SwiGLU(dst, src0, src1, scalarValue, dst.GetSize(), at);
}
template <class T, bool isReuseSource = false>
void SwiGLU(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const float& scalarValue,
            const LocalTensor<uint8_t>& sharedTmpBuffer, Place at = Place::here()) {
  SwiGLU(dst, src0, src1, scalarValue, sharedTmpBuffer, dst.GetSize(), at);
}

}  // namespace AscendC
#endif

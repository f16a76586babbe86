// Sums, products and functions of numbers, rounded as the words of an instruction say.
#include <fenv.h>
#include <math.h>

#include "operands.h"

namespace opbridge_twin::ptx {

namespace {

// The operation in the type's own precision, rounded once.
template <class F>
uint64_t calculate(I i, Type type, uint64_t a, uint64_t b, uint64_t c, F f) {
  const Rounding rounding(i);
  if (type.bits == 64) {
    volatile double x = as_number(a, type), y = as_number(b, type), z = as_number(c, type);
    return from_number(saturated(i, f(double(x), double(y), double(z))), type);
  }
  if (type.bits == 32) {
    volatile float x = static_cast<float>(as_number(a, type)), y = static_cast<float>(as_number(b, type)),
                   z = static_cast<float>(as_number(c, type));
    volatile float result = f(float(x), float(y), float(z));
    return from_number(saturated(i, result), type);
  }
  // Products of halves are exact in a double, and so are most sums.
  double result = f(as_number(a, type), as_number(b, type), as_number(c, type));
  if (i.has("relu") && !(result > 0)) result = result != result ? result : 0;
  return from_number(saturated(i, result), type);
}

template <class F>
void number(M m, I i, F f) {
  Type type = i.type();
  const size_t inputs = i.operands.size() - 1;
  const uint64_t a = in(m, i, 1), b = inputs > 1 ? in(m, i, 2) : 0, c = inputs > 2 ? in(m, i, 3) : 0;
  if (!type.pair) return out(m, i, calculate(i, type, a, b, c, f));
  const unsigned bits = type.bits;
  type.pair = false;
  const uint64_t low = calculate(i, type, cut(a, bits), cut(b, bits), cut(c, bits), f);
  m.set(i.operands[0], low | calculate(i, type, cut(a >> bits, bits), cut(b >> bits, bits), cut(c >> bits, bits), f)
                                 << bits);
}

template <class F>
void integer(M m, I i, F f) {
  Type type = i.type();
  if (!type.pair) return out(m, i, static_cast<uint64_t>(f(whole(m, i, 1, type), whole(m, i, 2, type))));
  type.pair = false;
  uint64_t result = 0;
  for (unsigned shift = 0; shift < 32; shift += 16) {
    uint64_t a = cut(m.get(i.operands[1]) >> shift, 16), b = cut(m.get(i.operands[2]) >> shift, 16);
    if (type.kind == 's') a = static_cast<uint64_t>(as_signed(a, type)), b = static_cast<uint64_t>(as_signed(b, type));
    result |= cut(static_cast<uint64_t>(f(static_cast<int64_t>(a), static_cast<int64_t>(b))), 16) << shift;
  }
  m.set(i.operands[0], result);
}

void sum(M m, I i, uint64_t b, bool subtracts) {
  const Type type = i.type();
  const uint64_t a = in(m, i, 1);
  const bool extended = i.words[0] == "addc" || i.words[0] == "subc";
  const unsigned __int128 carried = extended ? m.carry : 0;
  unsigned __int128 result =
      subtracts ? static_cast<unsigned __int128>(a) - b - carried : static_cast<unsigned __int128>(a) + b + carried;
  if (i.has("cc")) m.carry = (result >> type.bits & 1) != 0;
  if (i.has("sat") && type.kind == 's') {
    const __int128 exact = static_cast<__int128>(as_signed(a, type)) + (subtracts ? -1 : 1) * as_signed(b, type);
    const int64_t most = as_signed((uint64_t{1} << (type.bits - 1)) - 1, type);
    result = static_cast<unsigned __int128>(exact > most ? most : exact < -most - 1 ? -most - 1 : exact);
  }
  out(m, i, static_cast<uint64_t>(result));
}

void add(M m, I i) {
  if (is_number(i.type())) return number(m, i, [](auto a, auto b, auto) { return decltype(a)(a + b); });
  if (i.type().pair) return integer(m, i, [](int64_t a, int64_t b) { return a + b; });
  sum(m, i, in(m, i, 2), false);
}
void subtract(M m, I i) {
  if (is_number(i.type())) return number(m, i, [](auto a, auto b, auto) { return decltype(a)(a - b); });
  if (i.type().pair) return integer(m, i, [](int64_t a, int64_t b) { return a - b; });
  sum(m, i, in(m, i, 2), true);
}

// The part of a product that .lo, .hi or .wide names.
uint64_t product(M m, I i, Type type) {
  const int64_t a = whole(m, i, 1, type), b = whole(m, i, 2, type);
  const __int128 full =
      type.kind == 's'
          ? static_cast<__int128>(a) * b
          : static_cast<__int128>(static_cast<unsigned __int128>(static_cast<uint64_t>(a)) * static_cast<uint64_t>(b));
  return static_cast<uint64_t>(i.has("hi") ? full >> type.bits : full);
}
unsigned width_of_product(I i) { return i.has("wide") ? 2 * i.type().bits : i.type().bits; }

void multiply(M m, I i) {
  if (is_number(i.type())) return number(m, i, [](auto a, auto b, auto) { return decltype(a)(a * b); });
  m.set(i.operands[0], cut(product(m, i, i.type()), width_of_product(i)));
}
void multiply_add(M m, I i) {
  if (is_number(i.type())) {
    return number(m, i, [](auto a, auto b, auto c) { return decltype(a)(fma(a, b, c)); });
  }
  const unsigned width = width_of_product(i);
  const unsigned __int128 carried = i.words[0] == "madc" ? m.carry : 0;
  const unsigned __int128 result = static_cast<unsigned __int128>(cut(product(m, i, i.type()), width)) +
                                   cut(m.get(i.operands.at(3)), width) + carried;
  if (i.has("cc")) m.carry = (result >> width & 1) != 0;
  m.set(i.operands[0], cut(static_cast<uint64_t>(result), width));
}
void multiply_24(M m, I i) {
  const Type narrow{i.type().kind, 24};
  uint64_t result = product(m, i, narrow);
  if (i.has("hi")) result = product(m, i, {narrow.kind, 16});
  if (i.words[0] == "mad24") result += in(m, i, 3);
  out(m, i, result);
}
void divide(M m, I i) {
  if (is_number(i.type())) return number(m, i, [](auto a, auto b, auto) { return decltype(a)(a / b); });
  integer(m, i, [&](int64_t a, int64_t b) -> int64_t {
    if (b == 0) return -1;
    return i.type().kind == 's' ? a / b : static_cast<int64_t>(static_cast<uint64_t>(a) / static_cast<uint64_t>(b));
  });
}
void remainder(M m, I i) {
  integer(m, i, [&](int64_t a, int64_t b) -> int64_t {
    if (b == 0) return a;
    return i.type().kind == 's' ? a % b : static_cast<int64_t>(static_cast<uint64_t>(a) % static_cast<uint64_t>(b));
  });
}
void negate(M m, I i) {
  if (is_number(i.type())) return number(m, i, [](auto a, auto, auto) { return decltype(a)(-a); });
  out(m, i, 0 - in(m, i, 1));
}
void absolute(M m, I i) {
  if (is_number(i.type())) return number(m, i, [](auto a, auto, auto) { return decltype(a)(fabs(a)); });
  const int64_t value = whole(m, i, 1, i.type());
  out(m, i, static_cast<uint64_t>(value < 0 ? -value : value));
}
template <bool smaller>
void extreme(M m, I i) {
  if (is_number(i.type())) {
    const bool keeps_nan = i.has("NaN");
    return number(m, i, [=](auto a, auto b, auto) {
      if (keeps_nan && (a != a || b != b)) return decltype(a)(NAN);
      return decltype(a)(smaller ? fmin(a, b) : fmax(a, b));
    });
  }
  integer(m, i, [&](int64_t a, int64_t b) { return before(i, a, b) == smaller ? a : b; });
}
template <class F>
void function(M m, I i, F f) {
  number(m, i, [&](auto a, auto, auto) { return decltype(a)(f(a)); });
}
template <unsigned parts>
void dot_product(M m, I i) {
  const Type wide = i.types.front(), other = i.types.size() > 1 ? i.types[1] : wide;
  const uint64_t a = m.get(i.operands.at(1)), b = m.get(i.operands.at(2)) >> (parts == 2 && i.has("hi") ? 16 : 0);
  int64_t total = static_cast<int64_t>(m.get(i.operands.at(3)));
  const unsigned width = 32 / parts;
  for (unsigned n = 0; n < parts; ++n) {
    const uint64_t x = cut(a >> width * n, width), y = cut(b >> 8 * n, 8);
    total += (wide.kind == 's' ? as_signed(x, {'s', width}) : static_cast<int64_t>(x)) *
             (other.kind == 's' ? as_signed(y, {'s', 8}) : static_cast<int64_t>(y));
  }
  m.set(i.operands[0], cut(static_cast<uint64_t>(total), 32));
}
void sum_of_differences(M m, I i) {
  const int64_t a = whole(m, i, 1, i.type()), b = whole(m, i, 2, i.type());
  out(m, i, static_cast<uint64_t>(a < b ? b - a : a - b) + in(m, i, 3));
}

template <double (*f)(double)>
void of_double(M m, I i) {
  function(m, i, [](auto a) { return f(static_cast<double>(a)); });
}
double reciprocal(double a) { return 1 / a; }
double reciprocal_root(double a) { return 1 / sqrt(a); }
void copy_sign(M m, I i) {
  number(m, i, [](auto a, auto b, auto) { return decltype(a)(copysign(b, a)); });
}

}  // namespace

const Instructions& arithmetic_instructions() {
  static const Instructions& all = *new Instructions{
      {"abs", absolute},
      {"add", add},
      {"addc", add},
      {"copysign", copy_sign},
      {"cos", of_double<cos>},
      {"div", divide},
      {"dp2a", dot_product<2>},
      {"dp4a", dot_product<4>},
      {"ex2", of_double<exp2>},
      {"fma", multiply_add},
      {"lg2", of_double<log2>},
      {"mad", multiply_add},
      {"mad24", multiply_24},
      {"madc", multiply_add},
      {"max", extreme<false>},
      {"min", extreme<true>},
      {"mul", multiply},
      {"mul24", multiply_24},
      {"neg", negate},
      {"rcp", of_double<reciprocal>},
      {"rem", remainder},
      {"rsqrt", of_double<reciprocal_root>},
      {"sad", sum_of_differences},
      {"sin", of_double<sin>},
      {"sqrt", [](M m, I i) { function(m, i, [](auto a) { return decltype(a)(sqrt(a)); }); }},
      {"sub", subtract},
      {"subc", subtract},
      {"tanh", of_double<tanh>},
  };
  return all;
}

}  // namespace opbridge_twin::ptx

// How far the functions of opbridge/math.h are from the C library's in a wider type, in units of the last place:
//
//   math_accuracy STEP FIRST LAST [NAME]
//
// takes every STEP-th float among those whose bits are from FIRST to LAST, and as many doubles but no more than 2^24,
// and prints a line for each function and type: name, type, worst error, where, and in how many places the sign or a
// NaN was another.  Without arguments it prints the names.
//
// For floats, the first to be asked are the C library's vector functions, where it has any: a double that is a few
// units off says in which places the error may be the worst so far, and there the C library itself is asked.
#include <math.h>
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__) && __GLIBC_PREREQ(2, 35)
#define VECTOR(name) extern "C" __attribute__((simd("notinbranch"))) double name(double) noexcept;
VECTOR(exp)
VECTOR(exp2)
VECTOR(expm1)
VECTOR(log)
VECTOR(log2)
VECTOR(log10)
VECTOR(log1p)
VECTOR(sin)
VECTOR(cos)
VECTOR(tan)
VECTOR(asin)
VECTOR(acos)
VECTOR(atan)
VECTOR(sinh)
VECTOR(cosh)
VECTOR(tanh)
VECTOR(asinh)
VECTOR(acosh)
VECTOR(atanh)
VECTOR(erf)
VECTOR(erfc)
VECTOR(cbrt)
#undef VECTOR
#endif
#include <opbridge/math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <random>

namespace {

template <class T>
T from_bits(uint64_t bits) {
  if (sizeof(T) == 4) return ob::detail::bits_as<float>(static_cast<uint32_t>(bits));
  return static_cast<T>(ob::detail::bits_as<double>(bits));
}

struct Worst {
  double error = 0, x = 0, y = 0;
  long wrong = 0;

  template <class T, class Wide>
  void take(T got, Wide exact, T x_, T y_) {
    if (isnan(got) || isnan(exact)) {
      wrong += isnan(got) != isnan(exact);
      return;
    }
    wrong += signbit(got) != signbit(exact);
    const double e = units(got, exact);
    if (e > error) error = e, x = static_cast<double>(x_), y = static_cast<double>(y_);
  }

  template <class T, class Wide>
  static double units(T got, Wide exact) {
    using Limits = std::numeric_limits<T>;
    if (isinf(got) || isinf(static_cast<T>(exact))) {
      // Infinity counts as the number that would follow the largest.
      const Wide next = ldexp(Wide(1), Limits::max_exponent), most = fabs(exact) < next ? fabs(exact) : next;
      const Wide is = isinf(got) ? next : Wide(fabs(got));
      return static_cast<double>(fabs(is - most) / ldexp(Wide(1), Limits::max_exponent - Limits::digits));
    }
    int exponent = Limits::min_exponent;
    frexp(exact, &exponent);
    if (exact == 0 || exponent < Limits::min_exponent) exponent = Limits::min_exponent;
    return static_cast<double>(fabs(Wide(got) - exact) / ldexp(Wide(1), exponent - Limits::digits));
  }

  void print(const char* name, const char* type) const {
    printf("%s %s %.4f %a %a %ld\n", name, type, error, x, y, wrong);
    fflush(stdout);
  }
};

struct Inputs {
  uint64_t step, first, last;

  // Numbers of which there are too many to take all.
  uint64_t drawn() const {
    const uint64_t asked = (last - first) / step;
    return asked < (1u << 24) ? asked : 1u << 24;
  }
};

constexpr int piece = 4096;

// What Worst::units says of a float, without a branch; negative where neither is a number, and nothing to be compared
// with where only one is, or where the signs differ.
inline double units_at_once(float got, double exact) {
  constexpr double next = 0x1p128, least = 0x1p-126;
  const auto bits = [](double x) { return ob::detail::bits_as<uint64_t>(x); };
  const double is = got, size = ob::detail::bits_as<double>(bits(exact) & 0x7fffffffffffffff);
  const double power = ob::detail::bits_as<double>(bits(size > next ? next : size) & 0x7ff0000000000000);
  const double most = size > next ? next : size, size_got = ob::detail::bits_as<double>(bits(is) & 0x7fffffffffffffff);
  const double off = (size_got > next ? next : size_got) - most;
  const double error = (off < 0 ? -off : off) / ((power < least ? least : power == next ? next / 2 : power) * 0x1p-23);
  const bool neither = (is != is) & (exact != exact), same_sign = ((bits(is) ^ bits(exact)) >> 63) == 0;
  return neither ? -1. : same_sign ? error : double(NAN);
}

// In pieces, so that the function is measured as loops have it.
template <class F, class G>
void every_float(const Inputs& inputs, const char* name, F function, G exact) {
  Worst worst;
  float x[piece], out[piece];
  double about[piece];
  for (uint64_t at = inputs.first; at <= inputs.last; at += piece * inputs.step) {
    for (int i = 0; i < piece; ++i) x[i] = from_bits<float>(at + i * inputs.step);
    for (int i = 0; i < piece; ++i) out[i] = function(x[i]);
    for (int i = 0; i < piece; ++i) about[i] = exact(static_cast<double>(x[i]));
    const double known = worst.error;
    int further = 0;
    for (int i = 0; i < piece; ++i) further += !(units_at_once(out[i], about[i]) <= known);
    if (further == 0) continue;
    for (int i = 0; i < piece; ++i) {
      if (units_at_once(out[i], about[i]) <= worst.error) continue;
      volatile double alone = x[i];  // not of the vector functions
      worst.take(out[i], exact(alone), x[i], 0.f);
    }
  }
  worst.print(name, "float");
}

// Bits as they come, numbers around 1, and numbers up to where exponentials end.
template <class T>
T drawn(std::mt19937_64& random, int kind) {
  const uint64_t bits = random();
  const double part = static_cast<double>(bits >> 11) * 0x1p-53 - 0.5;
  if (kind == 0) return from_bits<T>(bits);
  return static_cast<T>(part * (kind == 1 ? 4 : kind == 2 ? 60 : sizeof(T) == 4 ? 220 : 1600));
}

constexpr double specials[] = {0.,    -0.,      1.,        -1.,       2.,     -2.,     3.,    -3.,    0.5,  -0.5,
                               1e10,  HUGE_VAL, -HUGE_VAL, NAN,       5e-324, -5e-324, 1e-45, -1e-45, 3e38, -3e38,
                               1e308, -1e308,   8388609.,  16777217., 709.78, -745.13, 88.72, -103.9, 1.5,  -1.5};
constexpr int count_of_specials = sizeof specials / sizeof *specials;

template <class F, class G>
void some_doubles(const Inputs& inputs, const char* name, F function, G exact) {
  Worst worst;
  std::mt19937_64 random(1);
  double x[piece], out[piece];
  for (uint64_t done = 0; done < inputs.drawn(); done += piece) {
    for (int i = 0; i < piece; ++i) x[i] = i < count_of_specials ? specials[i] : drawn<double>(random, i % 4);
    for (int i = 0; i < piece; ++i) out[i] = function(x[i]);
    for (int i = 0; i < piece; ++i) worst.take(out[i], exact(static_cast<long double>(x[i])), x[i], 0.);
  }
  worst.print(name, "double");
}

template <class T, class F, class G>
void some_pairs(const Inputs& inputs, const char* name, const char* type, F function, G exact) {
  Worst worst;
  std::mt19937_64 random(1);
  T x[piece], y[piece], out[piece];
  for (uint64_t done = 0; done < inputs.drawn(); done += piece) {
    for (int i = 0; i < piece; ++i) {
      const bool special = i < count_of_specials * count_of_specials;
      x[i] = special ? static_cast<T>(specials[i / count_of_specials]) : drawn<T>(random, i % 4);
      y[i] = special ? static_cast<T>(specials[i % count_of_specials]) : drawn<T>(random, i / 4 % 4);
      if (!special && i % 3 == 0) x[i] = fabs(x[i]), y[i] = y[i] / 16;
    }
    for (int i = 0; i < piece; ++i) out[i] = function(x[i], y[i]);
    for (int i = 0; i < piece; ++i) {
      worst.take(out[i], exact(static_cast<long double>(x[i]), static_cast<long double>(y[i])), x[i], y[i]);
    }
  }
  worst.print(name, type);
}

template <class Wide>
Wide exact_sigmoid(Wide x) {
  const Wide e = std::exp(-std::fabs(x));
  return (x < 0 ? e : Wide(1)) / (1 + e);
}

}  // namespace

int main(int argc, char** argv) {
#define NAME(name) puts(#name);
  if (argc < 4) {
    OB_FOR_EACH_UNARY(NAME)
    NAME(sigmoid) NAME(rsqrt) NAME(pow) NAME(atan2) NAME(hypot) return argc == 1 ? 0 : 2;
  }
  const Inputs inputs{strtoull(argv[1], nullptr, 0), strtoull(argv[2], nullptr, 0), strtoull(argv[3], nullptr, 0)};
  const auto asked = [&](const char* name) { return argc < 5 || strcmp(argv[4], name) == 0; };
#define UNARY(name, reference)                                                                                   \
  if (asked(#name)) {                                                                                            \
    every_float(inputs, #name, [](float x) { return ob::name(x); }, [](double x) { return double(reference); }); \
    some_doubles(inputs, #name, [](double x) { return ob::name(x); }, [](long double x) { return reference; });  \
  }
#define OF_THE_LIBRARY(name) UNARY(name, std::name(x))
  OB_FOR_EACH_UNARY(OF_THE_LIBRARY)
  UNARY(sigmoid, exact_sigmoid(x))
  UNARY(rsqrt, 1 / std::sqrt(x))
#define BINARY(name)                                                                                       \
  if (asked(#name)) {                                                                                      \
    const auto exact = [](long double x, long double y) { return std::name(x, y); };                       \
    some_pairs<float>(inputs, #name, "float", [](float x, float y) { return ob::name(x, y); }, exact);     \
    some_pairs<double>(inputs, #name, "double", [](double x, double y) { return ob::name(x, y); }, exact); \
  }
  BINARY(pow)
  BINARY(atan2)
  BINARY(hypot)
  return 0;
}

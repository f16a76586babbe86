// min and max without a namespace, for host and device code.
#ifndef OPBRIDGE_TWIN_MINMAX_H
#define OPBRIDGE_TWIN_MINMAX_H

// A compiler for the host alone has none, and what it compiles may have its own.
#ifndef OPBRIDGE_TWIN_HOST_SOURCE

#define OB_TWIN_MIN_MAX(result, a_type, b_type)                                                               \
  constexpr result min(a_type a, b_type b) {                                                                  \
    return static_cast<result>(b) < static_cast<result>(a) ? static_cast<result>(b) : static_cast<result>(a); \
  }                                                                                                           \
  constexpr result max(a_type a, b_type b) {                                                                  \
    return static_cast<result>(a) < static_cast<result>(b) ? static_cast<result>(b) : static_cast<result>(a); \
  }
OB_TWIN_MIN_MAX(int, int, int)
OB_TWIN_MIN_MAX(unsigned, unsigned, unsigned)
OB_TWIN_MIN_MAX(unsigned, int, unsigned)
OB_TWIN_MIN_MAX(unsigned, unsigned, int)
OB_TWIN_MIN_MAX(long, long, long)
OB_TWIN_MIN_MAX(unsigned long, unsigned long, unsigned long)
OB_TWIN_MIN_MAX(unsigned long, long, unsigned long)
OB_TWIN_MIN_MAX(unsigned long, unsigned long, long)
OB_TWIN_MIN_MAX(long long, long long, long long)
OB_TWIN_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
OB_TWIN_MIN_MAX(unsigned long long, long long, unsigned long long)
OB_TWIN_MIN_MAX(unsigned long long, unsigned long long, long long)
#undef OB_TWIN_MIN_MAX

// The names that say the type.
#define OB_TWIN_MIN_MAX(prefix, type)                              \
  constexpr type prefix##min(type a, type b) { return min(a, b); } \
  constexpr type prefix##max(type a, type b) { return max(a, b); }
OB_TWIN_MIN_MAX(u, unsigned)
OB_TWIN_MIN_MAX(ll, long long)
OB_TWIN_MIN_MAX(ull, unsigned long long)
#undef OB_TWIN_MIN_MAX

// Where one side is a NaN the other is the result.
constexpr float min(float a, float b) { return b < a || a != a ? b : a; }
constexpr float max(float a, float b) { return a < b || a != a ? b : a; }
constexpr double min(double a, double b) { return b < a || a != a ? b : a; }
constexpr double max(double a, double b) { return a < b || a != a ? b : a; }
constexpr double min(float a, double b) { return min(static_cast<double>(a), b); }
constexpr double min(double a, float b) { return min(a, static_cast<double>(b)); }
constexpr double max(float a, double b) { return max(static_cast<double>(a), b); }
constexpr double max(double a, float b) { return max(a, static_cast<double>(b)); }

#endif  // OPBRIDGE_TWIN_HOST_SOURCE
#endif

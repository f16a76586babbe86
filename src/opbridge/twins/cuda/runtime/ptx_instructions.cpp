// What each instruction of PTX does, but for those on matrices.
#include <fenv.h>
#include <math.h>
#include <string.h>

#include <map>

#include "checks.h"
#include "ptx.h"

namespace opbridge_twin::ptx {

namespace {

using Words = std::vector<std::string>;
using I = const Instruction&;
using M = Machine&;

// Rounds as the words of an instruction say, for as long as it lives.
class Rounding {
 public:
  explicit Rounding(I i) : before_(fegetround()) {
    if (i.has("rz") || i.has("rzi")) fesetround(FE_TOWARDZERO);
    if (i.has("rm") || i.has("rmi")) fesetround(FE_DOWNWARD);
    if (i.has("rp") || i.has("rpi")) fesetround(FE_UPWARD);
  }
  ~Rounding() { fesetround(before_); }
  Rounding(const Rounding&) = delete;
  Rounding& operator=(const Rounding&) = delete;

 private:
  int before_;
};

bool is_number(Type type) { return type.kind == 'f' || type.kind == 'h' || type.kind == 't'; }

// The operand's bits in this type; an immediate may be written as another kind of number.
uint64_t in(M m, I i, unsigned at, Type type) {
  const Operand& operand = i.operands.at(at);
  const uint64_t bits = m.get(operand);
  if (operand.name == "double" && type.bits == 32) return from_number(as_number(bits, {'f', 64}), type);
  return cut(bits, type.pair ? 2 * type.bits : type.bits);
}
uint64_t in(M m, I i, unsigned at) { return in(m, i, at, i.type()); }
int64_t whole(M m, I i, unsigned at, Type type) {
  const uint64_t bits = in(m, i, at, type);
  return type.kind == 's' ? as_signed(bits, type) : static_cast<int64_t>(bits);
}
void out(M m, I i, uint64_t bits) {
  const Type type = i.types.front();
  m.set(i.operands.at(0), type.pair ? bits : cut(bits, type.bits));
}

double saturated(I i, double value) { return !i.has("sat") ? value : value > 0 ? fmin(value, 1) : 0; }

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
bool before(I i, int64_t a, int64_t b) {
  return i.type().kind == 's' ? a < b : static_cast<uint64_t>(a) < static_cast<uint64_t>(b);
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

template <class F>
void bitwise(M m, I i, F f) {
  out(m, i, f(in(m, i, 1), i.operands.size() > 2 ? in(m, i, 2) : 0));
}
void shift_left(M m, I i) {
  const uint64_t by = cut(m.get(i.operands.at(2)), 32);
  out(m, i, by >= i.type().bits ? 0 : in(m, i, 1) << by);
}
void shift_right(M m, I i) {
  const Type type = i.type();
  const uint64_t by = cut(m.get(i.operands.at(2)), 32), most = type.bits - 1;
  if (type.kind == 's') {
    return out(m, i, static_cast<uint64_t>(as_signed(in(m, i, 1), type) >> (by > most ? most : by)));
  }
  out(m, i, by > most ? 0 : in(m, i, 1) >> by);
}
void funnel(M m, I i) {
  const uint64_t both = cut(m.get(i.operands.at(1)), 32) | m.get(i.operands.at(2)) << 32;
  uint64_t by = cut(m.get(i.operands.at(3)), 32);
  by = i.has("clamp") ? (by > 32 ? 32 : by) : by & 31;
  out(m, i, i.has("l") ? static_cast<uint64_t>((static_cast<unsigned __int128>(both) << by) >> 32) : both >> by);
}
void three_way(M m, I i) {
  const uint64_t a = in(m, i, 1), b = in(m, i, 2), c = in(m, i, 3), table = m.get(i.operands.at(4));
  uint64_t result = 0;
  for (unsigned n = 0; n < 8; ++n) {
    if ((table >> n & 1) != 0) result |= (n & 4 ? a : ~a) & (n & 2 ? b : ~b) & (n & 1 ? c : ~c);
  }
  out(m, i, result);
}
void permute(M m, I i) {
  const uint64_t both = cut(m.get(i.operands.at(1)), 32) | m.get(i.operands.at(2)) << 32;
  const uint64_t selectors = m.get(i.operands.at(3));
  const unsigned first = selectors & 3;
  uint64_t result = 0;
  for (unsigned n = 0; n < 4; ++n) {
    unsigned chosen = selectors >> 4 * n & 15;
    if (i.has("f4e")) chosen = (first + n) & 7;
    if (i.has("b4e")) chosen = (first - n) & 7;
    if (i.has("rc8")) chosen = first;
    if (i.has("ecl")) chosen = n > first ? n : first;
    if (i.has("ecr")) chosen = n < first ? n : first;
    if (i.has("rc16")) chosen = 2 * (first & 1) + (n & 1);
    const uint64_t byte = both >> 8 * (chosen & 7) & 255;
    result |= (chosen & 8 ? (byte & 128 ? 255 : 0) : byte) << 8 * n;
  }
  out(m, i, result);
}
void extract(M m, I i) {
  const Type type = i.type();
  const unsigned at = m.get(i.operands.at(2)) & 255, bits = m.get(i.operands.at(3)) & 255;
  const uint64_t a = in(m, i, 1);
  uint64_t result = at >= type.bits ? 0 : cut(a >> at, bits > 63 ? 64 : bits);
  const unsigned last = at + bits - 1 > type.bits - 1 ? type.bits - 1 : at + bits - 1;
  if (bits == 0) result = 0;
  if (type.kind == 's' && bits != 0 && (a >> last & 1) != 0) {
    const unsigned used = at > last ? 0 : last - at + 1;
    result |= used >= 64 ? 0 : ~uint64_t{0} << used;
  }
  out(m, i, result);
}
void insert(M m, I i) {
  const Type type = i.type();
  const unsigned at = m.get(i.operands.at(3)) & 255, bits = m.get(i.operands.at(4)) & 255;
  const uint64_t b = in(m, i, 2);
  if (at >= type.bits) return out(m, i, b);
  const uint64_t mask = cut(~uint64_t{0}, bits) << at;
  out(m, i, (b & ~mask) | (in(m, i, 1) << at & mask));
}
void find_bit(M m, I i) {
  const Type type = i.type();
  uint64_t a = in(m, i, 1);
  if (type.kind == 's' && as_signed(a, type) < 0) a = cut(~a, type.bits);
  const unsigned top = a == 0 ? ~0u : 63 - static_cast<unsigned>(__builtin_clzll(a));
  m.set(i.operands[0], cut(a == 0 ? ~0u : i.has("shiftamt") ? type.bits - 1 - top : top, 32));
}
void reverse(M m, I i) {
  const uint64_t a = in(m, i, 1);
  uint64_t result = 0;
  for (unsigned n = 0; n < i.type().bits; ++n) result |= (a >> n & 1) << (i.type().bits - 1 - n);
  out(m, i, result);
}
void count_ones(M m, I i) { m.set(i.operands[0], static_cast<uint64_t>(__builtin_popcountll(in(m, i, 1)))); }
void count_zeros(M m, I i) {
  const uint64_t a = in(m, i, 1);
  m.set(i.operands[0], a == 0 ? i.type().bits : static_cast<unsigned>(__builtin_clzll(a)) - (64 - i.type().bits));
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

bool compare(M m, I i, unsigned first) {
  const Type type = i.type();
  const std::string& how = i.words.at(1);
  if (is_number(type)) {
    const double a = as_number(in(m, i, first), type), b = as_number(in(m, i, first + 1), type);
    const bool unordered = a != a || b != b;
    if (how == "num") return !unordered;
    if (how == "nan") return unordered;
    if (how.size() == 3 && unordered) return true;
    if (unordered) return false;
    const std::string plain = how.substr(0, 2);
    return plain == "eq"   ? a == b
           : plain == "ne" ? a != b
           : plain == "lt" ? a < b
           : plain == "le" ? a <= b
           : plain == "gt" ? a > b
                           : a >= b;
  }
  const int64_t a = whole(m, i, first, type), b = whole(m, i, first + 1, type);
  if (how == "eq") return a == b;
  if (how == "ne") return a != b;
  const bool less = before(i, a, b), more = before(i, b, a);
  if (how == "lt" || how == "lo") return less;
  if (how == "gt" || how == "hi") return more;
  return how == "le" || how == "ls" ? !more : !less;
}
void set_predicate(M m, I i) {
  bool result = compare(m, i, 1), opposite = !result;
  if (i.operands.size() > 3) {
    const bool with = m.get(i.operands[3]) != 0;
    const auto joined = [&](bool value) {
      return i.has("and") ? value && with : i.has("or") ? value || with : value != with;
    };
    result = joined(result);
    opposite = joined(opposite);
  }
  m.set(i.operands[0], result);
  m.set_predicate(i.operands[0], opposite);
}
void set_number(M m, I i) {
  const bool result = compare(m, i, 1);
  const Type type = i.types.front();
  out(m, i, !result ? 0 : is_number(type) ? from_number(1, type) : ~uint64_t{0});
}
void select(M m, I i) { out(m, i, m.get(i.operands.at(3)) != 0 ? in(m, i, 1) : in(m, i, 2)); }
void select_by_sign(M m, I i) {
  const Type type = i.type();
  const uint64_t c = in(m, i, 3, type);
  const bool first = is_number(type) ? as_number(c, type) >= 0 : as_signed(c, type) >= 0;
  out(m, i, first ? m.get(i.operands[1]) : m.get(i.operands[2]));
}

void move(M m, I i) {
  const Operand& to = i.operands.at(0);
  if (to.kind != Operand::Kind::vector) {
    const Operand& from = i.operands.at(1);
    if (from.kind != Operand::Kind::vector) return out(m, i, in(m, i, 1));
    const unsigned width = i.type().bits / static_cast<unsigned>(from.parts.size());
    uint64_t bits = 0;
    for (unsigned n = 0; n < from.parts.size(); ++n) bits |= cut(m.get(from.parts[n]), width) << (width * n);
    return out(m, i, bits);
  }
  const uint64_t bits = m.get(i.operands.at(1));
  const unsigned width = i.type().bits / static_cast<unsigned>(to.parts.size());
  for (unsigned n = 0; n < to.parts.size(); ++n) m.set(to.parts[n], cut(bits >> (width * n), width));
}

double rounded(I i, double value) {
  if (i.has("rzi") || i.has("rz")) return trunc(value);
  if (i.has("rmi") || i.has("rm")) return floor(value);
  if (i.has("rpi") || i.has("rp")) return ceil(value);
  return nearbyint(value);
}
uint64_t to_whole(double value, Type type) {
  if (value != value) return type.kind == 's' && type.bits == 32 ? 0 : type.bits < 64 ? 0 : uint64_t{1} << 63;
  const double above = ldexp(1, static_cast<int>(type.bits) - (type.kind == 's' ? 1 : 0));
  if (value >= above) return cut(~uint64_t{0}, type.bits) >> (type.kind == 's' ? 1 : 0);
  if (type.kind != 's') return value <= 0 ? 0 : static_cast<uint64_t>(value);
  return value < -above ? uint64_t{1} << (type.bits - 1) : static_cast<uint64_t>(static_cast<int64_t>(value));
}
uint64_t convert_one(I i, uint64_t bits, Type from, Type to) {
  const Rounding rounding(i);
  if (!is_number(from)) {
    const int64_t value = from.kind == 's' ? as_signed(bits, from) : static_cast<int64_t>(bits);
    if (!is_number(to)) {
      if (!i.has("sat")) return static_cast<uint64_t>(value);
      const double number = from.kind == 's' ? static_cast<double>(value) : static_cast<double>(bits);
      return to_whole(number, to);
    }
    volatile double wide = from.kind == 's' ? static_cast<double>(value) : static_cast<double>(bits);
    if (to.bits == 32) {
      volatile float single = from.kind == 's' ? static_cast<float>(value) : static_cast<float>(bits);
      return from_number(single, to);
    }
    return from_number(wide, to);
  }
  const double value = as_number(bits, from);
  if (!is_number(to)) return to_whole(rounded(i, value), to);
  if (to.kind == 't') return (bits + 0x1000) & ~uint64_t{0x1fff};
  const bool integral = i.has("rni") || i.has("rzi") || i.has("rmi") || i.has("rpi");
  double result = saturated(i, integral ? rounded(i, value) : value);
  if (i.has("relu") && result < 0) result = 0;
  const bool toward_zero = i.has("rz") && to.bits == 16;
  if (!toward_zero) return from_number(result, to);
  uint64_t nearest = from_number(result, to);
  if (fabs(as_number(nearest, to)) > fabs(result)) --nearest;
  return nearest;
}
void convert(M m, I i) {
  Type to = i.types.front();
  const Type from = i.type();
  if (!to.pair) return out(m, i, convert_one(i, in(m, i, 1, from), from, to));
  to.pair = false;
  const uint64_t high = convert_one(i, in(m, i, 1, from), from, to), low = convert_one(i, in(m, i, 2, from), from, to);
  m.set(i.operands[0], low | high << 16);
}
void convert_address(M m, I i) {
  const uint64_t a = m.get(i.operands.at(1));
  const uint64_t window = i.has("shared") ? reinterpret_cast<uint64_t>(ob_twin_shared_window()) : 0;
  m.set(i.operands[0], i.has("to") ? a - window : a + window);
}
void ask_space(M m, I i) {
  const uint64_t a = m.get(i.operands.at(1));
  const bool is_shared = ob_twin_is_shared(reinterpret_cast<const void*>(a)) != 0;
  m.set(i.operands[0], i.has("shared") == is_shared);
}

// Memory --------------------------------------------------------------------------------------------------------------

bool is_ordered(I i) {
  return i.has("volatile") || i.has("relaxed") || i.has("acquire") || i.has("release") || i.has("mmio");
}
const Operand& element(const Operand& all, unsigned n) {
  return all.kind == Operand::Kind::vector ? all.parts.at(n) : all;
}
unsigned bytes_of(I i) { return (i.type().pair ? 32 : i.type().bits) / 8; }

void load(M m, I i) {
  const Type type = i.type();
  const unsigned bytes = bytes_of(i), width = i.width();
  const char* const from = m.memory(i, i.operands.at(1));
  for (unsigned n = 0; n < width; ++n) {
    uint64_t bits[2] = {};
    if (is_ordered(i)) {
      ob_twin_ptx_request request{};
      request.from = from + n * bytes;
      request.bytes = bytes;
      m.service(OB_TWIN_PTX_LOAD_ATOMIC, &request);
      bits[0] = request.expected;
    } else {
      m.move(bits, from + n * bytes, bytes, OB_TWIN_PTX_MOVE);
    }
    m.set(element(i.operands[0], n), type.kind == 's' ? static_cast<uint64_t>(as_signed(bits[0], type)) : bits[0]);
  }
}
void store(M m, I i) {
  const unsigned bytes = bytes_of(i), width = i.width();
  char* const to = m.memory(i, i.operands.at(0));
  for (unsigned n = 0; n < width; ++n) {
    const Operand& value = element(i.operands.at(1), n);
    uint64_t bits = m.get(value);
    if (value.name == "double" && i.type().bits == 32) bits = from_number(as_number(bits, {'f', 64}), {'f', 32});
    if (is_ordered(i)) {
      ob_twin_ptx_request request{};
      request.to = to + n * bytes;
      request.bytes = bytes;
      request.desired = bits;
      m.service(OB_TWIN_PTX_STORE_ATOMIC, &request);
    } else {
      m.move(to + n * bytes, &bits, bytes, OB_TWIN_PTX_MOVE);
    }
  }
}

uint64_t updated(M m, I i, uint64_t old, uint64_t b, uint64_t c) {
  const Type type = i.type();
  const auto as = [&](uint64_t bits) { return type.kind == 's' ? as_signed(bits, type) : static_cast<int64_t>(bits); };
  if (i.has("cas")) return old == cut(b, type.bits) ? c : old;
  if (i.has("exch")) return b;
  if (i.has("and")) return old & b;
  if (i.has("or")) return old | b;
  if (i.has("xor")) return old ^ b;
  if (i.has("inc")) return old >= b ? 0 : old + 1;
  if (i.has("dec")) return old == 0 || old > b ? b : old - 1;
  if (i.has("min")) return before(i, as(b), as(old)) ? b : old;
  if (i.has("max")) return before(i, as(old), as(b)) ? b : old;
  if (!i.has("add")) m.refuse('`' + i.text + "`: the twin has no such atomic");
  if (!is_number(type)) return old + b;
  if (!type.pair) return from_number(as_number(old, type) + as_number(b, type), type);
  const Type one{type.kind, 16};
  const auto part = [&](unsigned shift) {
    return from_number(as_number(cut(old >> shift, 16), one) + as_number(cut(b >> shift, 16), one), one);
  };
  return part(0) | part(16) << 16;
}
void atomic(M m, I i) {
  const bool answers = i.words[0] == "atom";
  const unsigned at = answers ? 1 : 0, bits = bytes_of(i) * 8;
  const uint64_t b = m.get(i.operands.at(at + 1)), c = i.operands.size() > at + 2 ? m.get(i.operands[at + 2]) : 0;
  ob_twin_ptx_request request{};
  request.to = m.memory(i, i.operands.at(at));
  request.from = request.to;
  request.bytes = bytes_of(i);
  // What is compared and swapped is asked for once, so that the checks see one attempt.
  if (i.has("cas")) {
    request.expected = cut(b, bits);
    request.desired = cut(c, bits);
    m.service(OB_TWIN_PTX_SWAP, &request);
  } else {
    request.expected = 0;
    request.desired = cut(updated(m, i, 0, b, c), bits);
    while (m.service(OB_TWIN_PTX_SWAP, &request), !request.predicate) {
      request.desired = cut(updated(m, i, request.expected, b, c), bits);
    }
  }
  if (answers) m.set(i.operands[0], request.expected);
}
void copy_async(M m, I i) {
  if (i.words.size() > 2 && (i.words[2] == "commit_group" || i.words[2] == "wait_group" || i.words[2] == "wait_all")) {
    return;
  }
  if (i.has("bulk") || i.has("mbarrier")) m.refuse('`' + i.text + "`: the twin has no such instruction");
  char* const to = m.memory(i, i.operands.at(0));
  Instruction global = i;
  global.words = {"ld"};
  const char* const from = m.memory(global, i.operands.at(1));
  const unsigned bytes = static_cast<unsigned>(m.get(i.operands.at(2)));
  unsigned given = i.operands.size() > 3 ? static_cast<unsigned>(cut(m.get(i.operands[3]), 32)) : bytes;
  if (given > bytes) given = bytes;
  if (given == bytes) return m.move(to, from, bytes, OB_TWIN_PTX_MOVE);
  const unsigned step = given % 4 == 0 ? 4 : 1;
  const uint64_t zero = 0;
  for (unsigned n = 0; n < bytes; n += step) {
    m.move(to + n, n < given ? static_cast<const void*>(from + n) : &zero, step, OB_TWIN_PTX_MOVE);
  }
}

// Together ------------------------------------------------------------------------------------------------------------

unsigned lane_of(M m) { return static_cast<unsigned>(m.special("laneid")); }

#define LANES(lane, lanes)                                                                                  \
  for (unsigned rest = lanes, lane; rest != 0 && (lane = static_cast<unsigned>(__builtin_ctz(rest)), true); \
       rest &= rest - 1)

// What a lane brings, and what it takes away.
struct Part {
  uint64_t value;
  unsigned source;
  uint64_t result;
  unsigned lanes;
  I instruction;
};
Part& part_of(void* brought) { return *static_cast<Part*>(brought); }

void shuffle(M m, I i) {
  if (!i.has("sync")) m.refuse("`shfl` without .sync is gone since Volta: use shfl.sync");
  const unsigned lane = lane_of(m), b = static_cast<unsigned>(cut(m.get(i.operands.at(2)), 32));
  const unsigned c = static_cast<unsigned>(m.get(i.operands.at(3))), clamp = c & 31, segments = c >> 8 & 31;
  const uint32_t mask = static_cast<uint32_t>(m.get(i.operands.at(4)));
  const int last = static_cast<int>((lane & segments) | (clamp & ~segments)), first = static_cast<int>(lane & segments);
  int source = static_cast<int>(lane);
  bool inside = false;
  if (i.has("up")) {
    source -= static_cast<int>(b & 31);
    inside = source >= last;
  } else {
    source = i.has("down")   ? source + static_cast<int>(b & 31)
             : i.has("bfly") ? source ^ static_cast<int>(b & 31)
                             : first | static_cast<int>(b & 31 & ~segments);
    inside = source <= last;
  }
  const uint64_t own = cut(m.get(i.operands.at(1)), 32);
  Part part{own, inside ? static_cast<unsigned>(source) : lane, own, 0, i};
  m.meet(mask, "shfl.sync", &part, [](void* const* brought, unsigned lanes) {
    LANES(at, lanes) {
      Part& mine = part_of(brought[at]);
      if (lanes >> mine.source & 1) mine.result = part_of(brought[mine.source]).value;
    }
  });
  m.set(i.operands[0], part.result);
  m.set_predicate(i.operands[0], inside);
}
void vote(M m, I i) {
  if (!i.has("sync")) m.refuse("`vote` without .sync is gone since Volta: use vote.sync");
  Part part{m.get(i.operands.at(1)) != 0, 0, 0, 0, i};
  m.meet(static_cast<uint32_t>(m.get(i.operands.at(2))), "vote.sync", &part, [](void* const* brought, unsigned lanes) {
    uint64_t ballot = 0;
    LANES(at, lanes) ballot |= part_of(brought[at]).value << at;
    LANES(at, lanes) part_of(brought[at]).result = ballot, part_of(brought[at]).lanes = lanes;
  });
  const bool all = part.result == part.lanes;
  m.set(i.operands[0], i.has("ballot") ? part.result
                       : i.has("any")  ? part.result != 0
                       : i.has("all")  ? all
                                       : all || part.result == 0);
}
void match(M m, I i) {
  Part part{in(m, i, 1), 0, 0, 0, i};
  m.meet(static_cast<uint32_t>(m.get(i.operands.at(2))), "match.sync", &part, [](void* const* brought, unsigned lanes) {
    LANES(at, lanes) {
      Part& mine = part_of(brought[at]);
      mine.lanes = lanes;
      mine.result = 0;
      for (unsigned other = 0; other < 32; ++other) {
        if ((lanes >> other & 1) != 0 && part_of(brought[other]).value == mine.value) mine.result |= 1ull << other;
      }
    }
  });
  const bool all = part.result == part.lanes;
  m.set(i.operands[0], i.has("any") || all ? part.result : 0);
  m.set_predicate(i.operands[0], all);
}
void reduce(M m, I i) {
  Part part{in(m, i, 1), 0, 0, 0, i};
  m.meet(static_cast<uint32_t>(m.get(i.operands.at(2))), "redux.sync", &part, [](void* const* brought, unsigned lanes) {
    Part& any = part_of(brought[__builtin_ctz(lanes)]);
    I how = any.instruction;
    uint64_t total = any.value;
    const auto as = [&](uint64_t bits) {
      return how.type().kind == 's' ? as_signed(bits, how.type()) : static_cast<int64_t>(bits);
    };
    LANES(at, lanes & (lanes - 1)) {
      const uint64_t b = part_of(brought[at]).value;
      if (how.has("add")) total += b;
      if (how.has("and")) total &= b;
      if (how.has("or")) total |= b;
      if (how.has("xor")) total ^= b;
      if (how.has("min") && before(how, as(b), as(total))) total = b;
      if (how.has("max") && before(how, as(total), as(b))) total = b;
    }
    LANES(at, lanes) part_of(brought[at]).result = total;
  });
  out(m, i, part.result);
}
void barrier(M m, I i) {
  ob_twin_ptx_request request{};
  if (i.has("warp")) {
    request.mask = static_cast<uint32_t>(m.get(i.operands.at(0)));
    return m.service(OB_TWIN_PTX_SYNC_WARP, &request);
  }
  const bool reduces = i.has("red");
  const unsigned at = reduces ? 1 : 0;
  const bool counted = i.operands.size() > at + (reduces ? 2 : 1);
  if (i.has("arrive")) m.refuse("`bar.arrive`: the twin's barriers are for whole blocks");
  if (counted) {
    ob_twin_ptx_request who{};
    m.service(OB_TWIN_PTX_WHO, &who);
    if (m.get(i.operands[at + 1]) != who.threads.x * who.threads.y * who.threads.z) {
      m.refuse("a barrier for some threads of a block: the twin's are for whole blocks");
    }
  }
  request.predicate = reduces && m.get(i.operands.back()) != 0;
  m.service(OB_TWIN_PTX_BARRIER, &request);
  if (!reduces) return;
  const ob_twin_vote vote = request.vote;
  m.set(i.operands[0], i.has("popc") ? vote.agreed : i.has("or") ? vote.agreed != 0 : vote.agreed == vote.threads);
}
void active_mask(M m, I i) {
  ob_twin_ptx_request request{};
  m.service(OB_TWIN_PTX_CONVERGED, &request);
  m.set(i.operands.at(0), request.mask);
}
// Told here, because this file is not instrumented.
void fence(M, I) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  checks::fence();
}
void sleep(M m, I) {
  ob_twin_ptx_request request{};
  m.service(OB_TWIN_PTX_SLEEP, &request);
}
void nothing(M, I) {}
void trap(M m, I) { m.refuse("`trap` was reached"); }
void branch(M m, I i) { m.next = i.target; }
void leave(M m, I) { m.next = static_cast<unsigned>(m.program.instructions.size()); }

template <double (*f)(double)>
void of_double(M m, I i) {
  function(m, i, [](auto a) { return f(static_cast<double>(a)); });
}
double reciprocal(double a) { return 1 / a; }
double reciprocal_root(double a) { return 1 / sqrt(a); }
void copy_sign(M m, I i) {
  number(m, i, [](auto a, auto b, auto) { return decltype(a)(copysign(b, a)); });
}

const std::map<std::string, Execute> kInstructions = {
    {"abs", absolute},
    {"activemask", active_mask},
    {"add", add},
    {"addc", add},
    {"and", [](M m, I i) { bitwise(m, i, [](uint64_t a, uint64_t b) { return a & b; }); }},
    {"applypriority", nothing},
    {"atom", atomic},
    {"bar", barrier},
    {"barrier", barrier},
    {"bfe", extract},
    {"bfi", insert},
    {"bfind", find_bit},
    {"bra", branch},
    {"brev", reverse},
    {"brkpt", nothing},
    {"clz", count_zeros},
    {"cnot", [](M m, I i) { bitwise(m, i, [](uint64_t a, uint64_t) -> uint64_t { return a == 0; }); }},
    {"copysign", copy_sign},
    {"cos", of_double<cos>},
    {"cp", copy_async},
    {"cvt", convert},
    {"cvta", convert_address},
    {"discard", nothing},
    {"div", divide},
    {"dp2a", dot_product<2>},
    {"dp4a", dot_product<4>},
    {"ex2", of_double<exp2>},
    {"exit", leave},
    {"fence", fence},
    {"fma", multiply_add},
    {"isspacep", ask_space},
    {"ld", load},
    {"ldu", load},
    {"lg2", of_double<log2>},
    {"lop3", three_way},
    {"mad", multiply_add},
    {"mad24", multiply_24},
    {"madc", multiply_add},
    {"match", match},
    {"max", extreme<false>},
    {"membar", fence},
    {"min", extreme<true>},
    {"mov", move},
    {"mul", multiply},
    {"mul24", multiply_24},
    {"nanosleep", sleep},
    {"neg", negate},
    {"not", [](M m, I i) { bitwise(m, i, [&](uint64_t a, uint64_t) { return i.type().kind == 'p' ? a ^ 1 : ~a; }); }},
    {"or", [](M m, I i) { bitwise(m, i, [](uint64_t a, uint64_t b) { return a | b; }); }},
    {"popc", count_ones},
    {"prefetch", nothing},
    {"prefetchu", nothing},
    {"prmt", permute},
    {"rcp", of_double<reciprocal>},
    {"red", atomic},
    {"redux", reduce},
    {"rem", remainder},
    {"ret", leave},
    {"rsqrt", of_double<reciprocal_root>},
    {"sad", sum_of_differences},
    {"selp", select},
    {"set", set_number},
    {"setp", set_predicate},
    {"shf", funnel},
    {"shfl", shuffle},
    {"shl", shift_left},
    {"shr", shift_right},
    {"sin", of_double<sin>},
    {"slct", select_by_sign},
    {"sqrt", [](M m, I i) { function(m, i, [](auto a) { return decltype(a)(sqrt(a)); }); }},
    {"st", store},
    {"sub", subtract},
    {"subc", subtract},
    {"tanh", of_double<tanh>},
    {"trap", trap},
    {"vote", vote},
    {"xor", [](M m, I i) { bitwise(m, i, [](uint64_t a, uint64_t b) { return a ^ b; }); }},
};

}  // namespace

Execute find_instruction(const Words& words) {
  if (const Execute found = find_matrix_instruction(words)) return found;
  if (words[0] == "pause") return sleep;  // no PTX, but how libcu++ waits on a processor
  const auto found = kInstructions.find(words[0]);
  return found == kInstructions.end() ? nullptr : found->second;
}

}  // namespace opbridge_twin::ptx

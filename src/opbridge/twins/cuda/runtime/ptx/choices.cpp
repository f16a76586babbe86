// Comparisons, choices by them, moves, and conversions from one type to another.
#include <math.h>

#include "operands.h"

namespace opbridge_twin::ptx {

namespace {

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

}  // namespace

const Instructions& choices_instructions() {
  static const Instructions& all = *new Instructions{
      {"cvt", convert},    {"mov", move},           {"selp", select},
      {"set", set_number}, {"setp", set_predicate}, {"slct", select_by_sign},
  };
  return all;
}

}  // namespace opbridge_twin::ptx

// Instructions on the bits of whole numbers.
#include "operands.h"

namespace opbridge_twin::ptx {

namespace {

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

}  // namespace

const Instructions& bits_instructions() {
  static const Instructions& all = *new Instructions{
      {"and", [](M m, I i) { bitwise(m, i, [](uint64_t a, uint64_t b) { return a & b; }); }},
      {"bfe", extract},
      {"bfi", insert},
      {"bfind", find_bit},
      {"brev", reverse},
      {"clz", count_zeros},
      {"cnot", [](M m, I i) { bitwise(m, i, [](uint64_t a, uint64_t) -> uint64_t { return a == 0; }); }},
      {"lop3", three_way},
      {"not", [](M m, I i) { bitwise(m, i, [&](uint64_t a, uint64_t) { return i.type().kind == 'p' ? a ^ 1 : ~a; }); }},
      {"or", [](M m, I i) { bitwise(m, i, [](uint64_t a, uint64_t b) { return a | b; }); }},
      {"popc", count_ones},
      {"prmt", permute},
      {"shf", funnel},
      {"shl", shift_left},
      {"shr", shift_right},
      {"xor", [](M m, I i) { bitwise(m, i, [](uint64_t a, uint64_t b) { return a ^ b; }); }},
  };
  return all;
}

}  // namespace opbridge_twin::ptx

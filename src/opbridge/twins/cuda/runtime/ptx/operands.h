// What all instructions do with their operands.
#ifndef OPBRIDGE_TWIN_RUNTIME_PTX_OPERANDS_H
#define OPBRIDGE_TWIN_RUNTIME_PTX_OPERANDS_H

#include <fenv.h>
#include <math.h>

#include <map>

#include "ptx.h"

namespace opbridge_twin::ptx {

using Words = std::vector<std::string>;
using I = const Instruction&;
using M = Machine&;

// Instructions by kind; each name is in one table.
using Instructions = std::map<std::string, Execute>;
const Instructions& arithmetic_instructions();
const Instructions& bits_instructions();
const Instructions& choices_instructions();
const Instructions& memory_instructions();
const Instructions& lanes_instructions();
const Instructions& copies_instructions();
const Instructions& mbarriers_instructions();
const Instructions& matrices_instructions();

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

inline bool is_number(Type type) { return type.kind == 'f' || type.kind == 'h' || type.kind == 't'; }

// The operand's bits in this type; an immediate may be written as another kind of number.
inline uint64_t in(M m, I i, unsigned at, Type type) {
  const Operand& operand = i.operands.at(at);
  const uint64_t bits = m.get(operand);
  if (operand.name == "double" && type.bits == 32) return from_number(as_number(bits, {'f', 64}), type);
  return cut(bits, type.pair ? 2 * type.bits : type.bits);
}
inline uint64_t in(M m, I i, unsigned at) { return in(m, i, at, i.type()); }
inline int64_t whole(M m, I i, unsigned at, Type type) {
  const uint64_t bits = in(m, i, at, type);
  return type.kind == 's' ? as_signed(bits, type) : static_cast<int64_t>(bits);
}
inline void out(M m, I i, uint64_t bits) {
  const Type type = i.types.front();
  m.set(i.operands.at(0), type.pair ? bits : cut(bits, type.bits));
}

inline double saturated(I i, double value) { return !i.has("sat") ? value : value > 0 ? fmin(value, 1) : 0; }
inline bool before(I i, int64_t a, int64_t b) {
  return i.type().kind == 's' ? a < b : static_cast<uint64_t>(a) < static_cast<uint64_t>(b);
}
inline unsigned bytes_of(I i) { return (i.type().pair ? 32 : i.type().bits) / 8; }
// Whether a store or an atomic hands over no more than its own value, which is what it does where nothing else is said.
inline bool is_relaxed(I i) { return !i.has("release") && !i.has("acq_rel"); }
// Whether the scope of the memory model is the block.
inline bool is_narrow(I i) { return i.has("cta"); }
inline void nothing(M, I) {}

}  // namespace opbridge_twin::ptx
#endif

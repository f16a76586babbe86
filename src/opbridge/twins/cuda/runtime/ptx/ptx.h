// Inline PTX as the twin runs it: a text is read once, into instructions on numbered registers.
#ifndef OPBRIDGE_TWIN_RUNTIME_PTX_PTX_H
#define OPBRIDGE_TWIN_RUNTIME_PTX_PTX_H

#include <opbridge_twin/ptx_call.h>
#include <stdint.h>

#include <string>
#include <vector>

namespace opbridge_twin::ptx {

struct Machine;
struct Instruction;
using Execute = void (*)(Machine& machine, const Instruction& instruction);

// How PTX reads the bits of a register: s(igned), u(nsigned), b(its), f(loat), h (bfloat16), t(f32) or p(redicate).
struct Type {
  char kind = 'b';
  unsigned bits = 32;
  bool pair = false;  // two of them in a register
};

struct Operand {
  enum class Kind { slot, immediate, special, vector, address, sink };
  Kind kind = Kind::sink;
  unsigned slot = 0;
  uint64_t bits = 0;  // of an immediate; of an address what is added to its base
  bool negated = false;
  bool single = false;             // an immediate of 32 bits
  std::string name;                // of a special register
  std::vector<Operand> parts;      // of a vector; the base of an address
  std::vector<Operand> predicate;  // the operand after `|`
};

struct Instruction {
  Execute execute = nullptr;
  std::string text;
  std::vector<std::string> words;  // the opcode and what follows its dots, but for types
  std::vector<Type> types;
  std::vector<Operand> operands;
  unsigned predicate = kAlways;
  bool unless = false;
  unsigned target = 0;  // of a branch

  static constexpr unsigned kAlways = ~0u;

  bool has(const char* word) const;
  const Type& type() const { return types.back(); }
  unsigned width() const;  // 1, or the elements of .v2, .v4 and .v8
};

struct Program {
  std::string text;
  std::vector<Instruction> instructions;
  unsigned operands = 0;  // of the statement, which are the first slots
  unsigned slots = 0;
  std::string error;  // why it cannot run, if it cannot
};

// Null where the twin has no such instruction.
Execute find_instruction(const std::vector<std::string>& words);

// `operands` is how many the asm statement has.
Program read(const char* text, unsigned operands);

// One thread at one statement.
struct Machine {
  const Program& program;
  ob_twin_ptx_operand* given;
  unsigned count;
  ob_twin_ptx_service service;
  std::vector<uint64_t> registers;
  unsigned next = 0;
  bool carry = false;

  uint64_t get(const Operand& operand);
  void set(const Operand& operand, uint64_t bits);
  void set_predicate(const Operand& operand, bool value);
  uint64_t special(const std::string& name);
  // The memory that an address means.
  char* memory(const Instruction& instruction, const Operand& address);
  char* memory_in(const std::string& space, const Operand& address);
  void meet(uint32_t mask, const char* what, void* part, ob_twin_resolve resolve);
  void move(void* to, const void* from, unsigned bytes, int what);
  [[noreturn]] void refuse(const std::string& why);
};

float half_to_float(uint16_t bits);
uint16_t float_to_half(float value);
float bfloat_to_float(uint16_t bits);
uint16_t float_to_bfloat(float value);
// Converts the bits of a floating-point type.
double as_number(uint64_t bits, Type type);
uint64_t from_number(double value, Type type);
int64_t as_signed(uint64_t bits, Type type);
uint64_t cut(uint64_t bits, unsigned width);

}  // namespace opbridge_twin::ptx
#endif

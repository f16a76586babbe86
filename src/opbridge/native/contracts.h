// The numbers that Python writes and C++ reads.  Printed by contracts.py, which says where each stands.
#ifndef OPBRIDGE_NATIVE_CONTRACTS_H
#define OPBRIDGE_NATIVE_CONTRACTS_H

#include <cstdint>

namespace opbridge {

constexpr int64_t kPlanMagic = 0x314e414c50424f;  // "OBPLAN1" in memory order
constexpr int64_t kPlanVersion = 2;

// What a word of a compiled `out` rule does; rule_vm.h runs it.
enum class RuleOp : int64_t {
  Constant = 0,
  Argument = 1,
  Item = 2,
  If = 3,
  Add = 4,
  Subtract = 5,
  Multiply = 6,
  Divide = 7,
  FloorDivide = 8,
  CeilDivide = 9,
  Modulo = 10,
  Power = 11,
  Negate = 12,
  Absolute = 13,
  Minimum = 14,
  Maximum = 15,
  Truncate = 16,
  Widen = 17,
  Rank = 18,
  Dim = 19,
  Length = 20,
  Size = 21,
  Element = 22,
  Sum = 23,
  Product = 24,
  List = 25,
  Shape = 26,
  Concatenate = 27,
  Slice = 28,
  Broadcast = 29,
  Dtype = 30,
  Promote = 31,
  IfPresent = 32,
  Each = 33,
  IsNone = 34,
  Not = 35,
  And = 36,
  Or = 37,
  Compare = 38,
};

// How a comparison compares, in rules and in formulas.
enum class Relation : int64_t {
  Equal = 0,
  NotEqual = 1,
  Less = 2,
  LessEqual = 3,
  Greater = 4,
  GreaterEqual = 5,
};

// As what a rule's comparison reads both of its sides.
enum class Comparable : int64_t {
  Integers = 0,
  Reals = 1,
  Truths = 2,
  Dtypes = 3,
  Lists = 4,
  Texts = 5,
};

// What a word of a compiled formula does; torch/formula.h runs it.
enum class Code : int64_t {
  Argument = 0,
  Grad = 1,
  Result = 2,
  Integer = 3,
  Real = 4,
  Boolean = 5,
  None = 6,
  Text = 7,
  Dtype = 8,
  List = 9,
  Call = 10,
  Arithmetic = 11,
  Compare = 12,
  Negate = 13,
  Not = 14,
  Shape = 15,
  DtypeOf = 16,
  Rank = 17,
  Numel = 18,
  Index = 19,
  JumpIfFalse = 20,
  Jump = 21,
  IsNone = 22,
};

// What stands between the brackets of a formula's index.
enum class Subscript : int64_t {
  Integer = 0,
  Slice = 1,
  NewAxis = 2,
  Ellipsis = 3,
};

// What an argument is to the adapters; `Other` is passed along and never looked into.
enum class Kind : int64_t {
  Tensor = 0,
  Bool = 1,
  Int = 2,
  Float = 3,
  String = 4,
  Dtype = 5,
  Scalar = 6,
  Other = 7,
};

// Properties of an argument in addition to its kind; bits, added up.
enum ArgFlag : int64_t {
  kList = 1,
  kOptional = 2,
  kElementOptional = 4,
  kKeywordOnly = 8,
  kMutable = 16,
  kHasDefault = 32,
  kRows = 64,
};

// What a default is, and with that how its words go on.
enum class ConstantTag : int64_t {
  None = 0,
  Bool = 1,
  Int = 2,
  Float = 3,
  String = 4,
  Dtype = 5,
  List = 6,
};

// How an operator meets an extra dimension: a call for each slice, or one over all.
enum class Batch : int64_t {
  Loop = 0,
  Elementwise = 1,
  Leading = 2,
};

}  // namespace opbridge

#endif

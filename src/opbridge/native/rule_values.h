/* What rule_vm.h computes with: integers that may be symbols, lists of sizes, and dtypes. */
#ifndef OPBRIDGE_RULE_VALUES_H
#define OPBRIDGE_RULE_VALUES_H

#include <opbridge/abi.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "contracts.h"

namespace opbridge {

/* For whatever C++ compares: numbers give a truth, and a framework's tensors one for each element. */
template <class Left, class Right>
auto related(Relation relation, const Left& a, const Right& b) {
  switch (relation) {
    case Relation::Equal:
      return a == b;
    case Relation::NotEqual:
      return a != b;
    case Relation::Less:
      return a < b;
    case Relation::LessEqual:
      return a <= b;
    case Relation::Greater:
      return a > b;
    default:
      return a >= b;
  }
}

/* A rule that does not hold for the arguments of this call. */
class RuleFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/* The arithmetic of a kind of integers; all a symbolic one has to supply. */
template <class Int>
struct RuleNumbers;

template <>
struct RuleNumbers<int64_t> {
  static int64_t add(int64_t a, int64_t b) {
    int64_t result;
    return __builtin_add_overflow(a, b, &result) ? overflow() : result;
  }
  static int64_t subtract(int64_t a, int64_t b) {
    int64_t result;
    return __builtin_sub_overflow(a, b, &result) ? overflow() : result;
  }
  static int64_t multiply(int64_t a, int64_t b) {
    int64_t result;
    return __builtin_mul_overflow(a, b, &result) ? overflow() : result;
  }
  /* Towards minus infinity; b is not 0. */
  static int64_t floor_divide(int64_t a, int64_t b) {
    if (b == -1) return subtract(0, a);
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
  }
  static bool equal(int64_t a, int64_t b) { return a == b; }
  static bool less(int64_t a, int64_t b) { return a < b; }
  /* Whether a size is wrong for sure; of a symbol the framework checks it itself. */
  static bool known_negative(int64_t a) { return a < 0; }
  /* An index or an exponent, which has to be a number now. */
  static int64_t concrete(int64_t a) { return a; }
  static double real(int64_t a) { return static_cast<double>(a); }
  static std::string text(int64_t a) { return std::to_string(a); }
  [[noreturn]] static int64_t overflow() { throw RuleFailure("a number does not fit in 64 bits"); }
};

/* A list of sizes that stays on the stack at any rank one meets. */
template <class Int>
class SmallShape {
 public:
  size_t size() const { return size_; }
  Int* data() { return spilled_.empty() ? inline_ : spilled_.data(); }
  const Int* data() const { return spilled_.empty() ? inline_ : spilled_.data(); }
  Int& operator[](size_t i) { return data()[i]; }
  const Int& operator[](size_t i) const { return data()[i]; }
  const Int* begin() const { return data(); }
  const Int* end() const { return data() + size_; }
  void clear() {
    size_ = 0;
    spilled_.clear();
  }
  void push(Int value) {
    if (size_ == kInline && spilled_.empty()) spilled_.assign(inline_, inline_ + kInline);
    if (size_ >= kInline) {
      spilled_.push_back(std::move(value));
    } else {
      inline_[size_] = std::move(value);
    }
    ++size_;
  }

 private:
  static constexpr size_t kInline = 12;
  size_t size_ = 0;
  Int inline_[kInline] = {};
  std::vector<Int> spilled_;
};

/* The twin of `promote` in waist/rules/dtypes.py: a dtype code, or -1 where the two have no common type. */
constexpr int promoted(int a, int b) {
  if (a == b) return a;
  const int low = a < b ? a : b, high = a < b ? b : a;
  for (const int late : {OB_uint16, OB_uint32, OB_uint64}) {
    if (low == late || high == late) return high >= OB_float16 && high <= OB_float64 ? high : -1;
  }
  if (low == OB_uint8 && high == OB_int8) return OB_int16;
  if (low == OB_float16 && high == OB_bfloat16) return OB_float32;
  if (low == OB_float64 && high == OB_complex64) return OB_complex128;
  return high;
}

constexpr const char* dtype_name(int code) {
  constexpr const char* names[] = {
#define OB_DTYPE_NAME(code, name, bytes) #name,
      OB_FOR_EACH_DTYPE(OB_DTYPE_NAME)
#undef OB_DTYPE_NAME
  };
  return names[code];
}

template <class Int>
std::string shape_text(const SmallShape<Int>& shape) {
  std::string text = "[";
  for (const Int& size : shape) text += (text.size() > 1 ? ", " : "") + RuleNumbers<Int>::text(size);
  return text + "]";
}

}  // namespace opbridge
#endif

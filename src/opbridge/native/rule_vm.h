/* Runs the shape and dtype rules of operators: what waist/rules/lowering.py compiled, over the arguments of one call.
 *
 * Words stand in prefix order: an operation, then its operands.  Every operation is read by the function that returns
 * its kind (`integer`, `real`, `truth`, `dtype`, `shape`), so a word carries no type and a value needs no tag.
 * Sizes are `Int`: int64_t, or a framework's symbolic integer for which the adapter specialises `RuleNumbers`.
 *
 * `Env` is what the rule sees of the call; `arg` counts the arguments of the schema, `item` the tensors of a list:
 *   int64_t rank(int arg, int item);  Int dim(int arg, int item, int64_t k);  int dtype(int arg, int item);
 *   bool is_none(int arg);            int64_t length(int arg);
 *   Int int_value(int arg);           double float_value(int arg);           bool bool_value(int arg);
 *   Int list_item(int arg, int64_t k); double float_item(int arg, int64_t k); bool bool_item(int arg, int64_t k);
 *   int dtype_value(int arg);         std::string_view string_value(int arg);
 */
#ifndef OPBRIDGE_RULE_VM_H
#define OPBRIDGE_RULE_VM_H

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "contracts.h"
#include "rule_values.h"

namespace opbridge {

// Evaluates while it reads: the code is a tree in prefix order, so what a branch does not take is skipped by its
// length.
template <class Int, class Env>
class RuleReader {
 public:
  RuleReader(const int64_t* words, const Env& env) : next_(words), env_(env) {}

  Int integer() {
    switch (const RuleOp op = operation()) {
      case RuleOp::Constant:
        return Int(word());
      case RuleOp::Argument:
        return env_.int_value(argument());
      case RuleOp::Item: {
        const int arg = argument();
        return env_.list_item(arg, index(env_.length(arg)));
      }
      case RuleOp::If:
        return choose([this] { return integer(); });
      case RuleOp::Rank: {
        const Tensor tensor = this->tensor();
        return Int(env_.rank(tensor.arg, tensor.item));
      }
      case RuleOp::Dim: {
        const Tensor tensor = this->tensor();
        return env_.dim(tensor.arg, tensor.item, index(env_.rank(tensor.arg, tensor.item)));
      }
      case RuleOp::Length:
        return Int(env_.length(argument()));
      case RuleOp::Size:
        return Int(static_cast<int64_t>(list().size()));
      case RuleOp::Element: {
        const Shape sizes = list();
        return sizes[static_cast<size_t>(index(static_cast<int64_t>(sizes.size())))];
      }
      case RuleOp::Sum: {
        Int total(0);
        for (const Int& size : list()) total = N::add(total, size);
        return total;
      }
      case RuleOp::Product: {
        Int total(1);
        for (const Int& size : list()) total = N::multiply(total, size);
        return total;
      }
      case RuleOp::Truncate:
        return truncated(real());
      case RuleOp::Negate:
        return N::subtract(Int(0), integer());
      case RuleOp::Absolute: {
        const Int value = integer();
        return N::less(value, Int(0)) ? N::subtract(Int(0), value) : value;
      }
      default:
        return combined(op);
    }
  }

  double real() {
    switch (const RuleOp op = operation()) {
      case RuleOp::Constant: {
        double value;
        std::memcpy(&value, next_++, sizeof value);
        return value;
      }
      case RuleOp::Argument:
        return env_.float_value(argument());
      case RuleOp::Item: {
        const int arg = argument();
        return env_.float_item(arg, index(env_.length(arg)));
      }
      case RuleOp::If:
        return choose([this] { return real(); });
      case RuleOp::Widen:
        return N::real(integer());
      case RuleOp::Negate:
        return -real();
      case RuleOp::Absolute:
        return std::fabs(real());
      default:
        return combined_real(op);
    }
  }

  bool truth() {
    switch (operation()) {
      case RuleOp::Constant:
        return word() != 0;
      case RuleOp::Argument:
        return env_.bool_value(argument());
      case RuleOp::Item: {
        const int arg = argument();
        return env_.bool_item(arg, index(env_.length(arg)));
      }
      case RuleOp::If:
        return choose([this] { return truth(); });
      case RuleOp::IsNone:
        return env_.is_none(static_cast<int>(word()));
      case RuleOp::Not:
        return !truth();
      case RuleOp::And:
        return truth() ? (word(), truth()) : (skip(), false);
      case RuleOp::Or:
        return truth() ? (skip(), true) : (word(), truth());
      case RuleOp::Compare:
        return compared();
      default:
        damaged();
    }
  }

  int dtype() {
    switch (operation()) {
      case RuleOp::Constant:
        return static_cast<int>(word());
      case RuleOp::Argument:
        return env_.dtype_value(argument());
      case RuleOp::If:
        return choose([this] { return dtype(); });
      case RuleOp::Dtype: {
        const Tensor tensor = this->tensor();
        return env_.dtype(tensor.arg, tensor.item);
      }
      case RuleOp::Promote:
        return promotion();
      default:
        damaged();
    }
  }

  /* Appends to `out`. */
  void shape(SmallShape<Int>& out) {
    switch (operation()) {
      case RuleOp::Argument: {
        const int arg = argument();
        for (int64_t k = 0, n = env_.length(arg); k < n; ++k) out.push(env_.list_item(arg, k));
        return;
      }
      case RuleOp::If:
        return choose([&] { shape(out); });
      case RuleOp::List:
        for (int64_t n = word(); n > 0; --n) out.push(integer());
        return;
      case RuleOp::Shape: {
        const Tensor tensor = this->tensor();
        return append(tensor.arg, tensor.item, out);
      }
      case RuleOp::Concatenate:
        shape(out);
        return shape(out);
      case RuleOp::Slice:
        return slice(out);
      case RuleOp::Broadcast:
        return broadcast(out);
      default:
        damaged();
    }
  }

 private:
  using N = RuleNumbers<Int>;
  using Shape = SmallShape<Int>;
  // A tensor in an expression: an argument, and where that is a list, which of its items.
  struct Tensor {
    int arg, item;
  };

  int64_t word() { return *next_++; }
  RuleOp operation() { return static_cast<RuleOp>(word()); }
  void skip() {
    const int64_t n = word();
    next_ += n;
  }
  [[noreturn]] static void damaged() { throw RuleFailure("the compiled rule is damaged"); }
  [[noreturn]] static void fail(const std::string& message) { throw RuleFailure(message); }

  int argument() {
    const int arg = static_cast<int>(word());
    if (env_.is_none(arg)) fail("the rule needs argument " + std::to_string(arg) + ", which is None");
    return arg;
  }

  Tensor tensor() {
    const int arg = argument();
    return {arg, word() ? static_cast<int>(index(env_.length(arg))) : 0};
  }

  Shape list() {
    Shape sizes;
    shape(sizes);
    return sizes;
  }

  int64_t index(int64_t n) {
    const int64_t asked = N::concrete(integer());
    const int64_t found = asked < 0 ? asked + n : asked;
    if (found < 0 || found >= n) {
      fail("index " + std::to_string(asked) + " is out of range, there are " + std::to_string(n));
    }
    return found;
  }

  template <class Read>
  auto choose(Read read) -> decltype(read()) {
    if (!truth()) {
      skip();
      word();
      return read();
    }
    word();
    if constexpr (std::is_void_v<decltype(read())>) {
      read();
      skip();
    } else {
      auto value = read();
      skip();
      return value;
    }
  }

  Int combined(RuleOp op) {
    const Int a = integer(), b = integer();
    switch (op) {
      case RuleOp::Add:
        return N::add(a, b);
      case RuleOp::Subtract:
        return N::subtract(a, b);
      case RuleOp::Multiply:
        return N::multiply(a, b);
      case RuleOp::FloorDivide:
        return floor_divided(a, b);
      case RuleOp::CeilDivide:
        return N::subtract(Int(0), floor_divided(N::subtract(Int(0), a), b));
      case RuleOp::Modulo:
        return N::subtract(a, N::multiply(floor_divided(a, b), b));
      case RuleOp::Power:
        return power(a, N::concrete(b));
      case RuleOp::Minimum:
        return N::less(b, a) ? b : a;
      case RuleOp::Maximum:
        return N::less(a, b) ? b : a;
      default:
        damaged();
    }
  }

  static Int floor_divided(const Int& a, const Int& b) {
    if (N::equal(b, Int(0))) fail("division by zero");
    return N::floor_divide(a, b);
  }

  static Int power(Int base, int64_t exponent) {
    if (exponent < 0) fail("the power " + std::to_string(exponent) + " is negative");
    Int result(1);
    for (;;) {
      if (exponent & 1) result = N::multiply(result, base);
      if ((exponent >>= 1) == 0) return result;
      base = N::multiply(base, base);
    }
  }

  static Int truncated(double value) {
    if (!std::isfinite(value)) fail("int() of a number that is not finite");
    if (std::fabs(value) >= 0x1p63) fail("a number does not fit in 64 bits");
    return Int(static_cast<int64_t>(value));
  }

  double combined_real(RuleOp op) {
    const double a = real(), b = real();
    switch (op) {
      case RuleOp::Add:
        return a + b;
      case RuleOp::Subtract:
        return a - b;
      case RuleOp::Multiply:
        return a * b;
      case RuleOp::Divide:
        if (b == 0) fail("division by zero");
        return a / b;
      case RuleOp::Minimum:
        return b < a ? b : a;
      case RuleOp::Maximum:
        return b > a ? b : a;
      default:
        damaged();
    }
  }

  bool compared() {
    const auto relation = static_cast<Relation>(word());
    switch (static_cast<Comparable>(word())) {
      case Comparable::Integers: {
        const Int a = integer(), b = integer();
        switch (relation) {
          case Relation::Equal:
            return N::equal(a, b);
          case Relation::NotEqual:
            return !N::equal(a, b);
          case Relation::Less:
            return N::less(a, b);
          case Relation::LessEqual:
            return !N::less(b, a);
          case Relation::Greater:
            return N::less(b, a);
          default:
            return !N::less(a, b);
        }
      }
      case Comparable::Reals: {
        const double a = real(), b = real();
        return related(relation, a, b);
      }
      case Comparable::Truths: {
        const bool a = truth(), b = truth();
        return (a == b) == (relation == Relation::Equal);
      }
      case Comparable::Dtypes: {
        const int a = dtype(), b = dtype();
        return (a == b) == (relation == Relation::Equal);
      }
      case Comparable::Lists: {
        const Shape a = list(), b = list();
        return std::equal(a.begin(), a.end(), b.begin(), b.end(), N::equal) == (relation == Relation::Equal);
      }
      default: {
        const std::string_view a = text(), b = text();
        return (a == b) == (relation == Relation::Equal);
      }
    }
  }

  /* A literal's bytes are the words themselves. */
  std::string_view text() {
    if (operation() == RuleOp::Argument) return env_.string_value(argument());
    const size_t size = static_cast<size_t>(word());
    const std::string_view literal(reinterpret_cast<const char*>(next_), size);
    next_ += (size + 7) / 8;
    return literal;
  }

  int promotion() {
    int result = -1;
    const auto join = [&result](int dtype) {
      const int joined = result < 0 ? dtype : promoted(result, dtype);
      if (joined < 0) fail(std::string(dtype_name(result)) + " and " + dtype_name(dtype) + " have no common dtype");
      result = joined;
    };
    each_operand([&](int arg, int item) { join(env_.dtype(arg, item)); }, [&] { join(dtype()); });
    if (result < 0) fail("promote() is given no tensor");
    return result;
  }

  void broadcast(Shape& out) {
    Shape result;
    bool any = false;
    const auto join = [&](const Shape& other) {
      result = any ? broadcasted(result, other) : other;
      any = true;
    };
    each_operand(
        [&](int arg, int item) {
          Shape sizes;
          append(arg, item, sizes);
          join(sizes);
        },
        [&] { join(list()); });
    if (!any) fail("broadcast() is given no tensor");
    for (const Int& size : result) out.push(size);
  }

  /* The operands of broadcast() and promote(): `tensor` gets those of optional and list arguments, `other` reads. */
  template <class OnTensor, class Other>
  void each_operand(OnTensor on_tensor, Other other) {
    for (int64_t n = word(); n > 0; --n) {
      switch (static_cast<RuleOp>(*next_)) {
        case RuleOp::IfPresent: {
          ++next_;
          const int arg = static_cast<int>(word());
          if (!env_.is_none(arg)) on_tensor(arg, 0);
          break;
        }
        case RuleOp::Each: {
          ++next_;
          const int arg = static_cast<int>(word());
          const int64_t length = env_.is_none(arg) ? 0 : env_.length(arg);
          for (int64_t item = 0; item < length; ++item) on_tensor(arg, static_cast<int>(item));
          break;
        }
        default:
          other();
      }
    }
  }

  static Shape broadcasted(const Shape& a, const Shape& b) {
    const Shape& longer = a.size() >= b.size() ? a : b;
    const Shape& shorter = a.size() >= b.size() ? b : a;
    const size_t lead = longer.size() - shorter.size();
    Shape result;
    for (size_t i = 0; i < longer.size(); ++i) {
      if (i < lead || N::equal(longer[i], shorter[i - lead]) || N::equal(shorter[i - lead], Int(1))) {
        result.push(longer[i]);
      } else if (N::equal(longer[i], Int(1))) {
        result.push(shorter[i - lead]);
      } else {
        fail("shapes " + shape_text(a) + " and " + shape_text(b) + " do not broadcast");
      }
    }
    return result;
  }

  void append(int arg, int item, Shape& out) {
    for (int64_t k = 0, n = env_.rank(arg, item); k < n; ++k) out.push(env_.dim(arg, item, k));
  }

  /* Python's slices: negative bounds count from the end, and bounds beyond it are brought back. */
  void slice(Shape& out) {
    const int64_t present = word();
    const Shape sizes = list();
    int64_t given[3];
    for (int bound = 0; bound < 3; ++bound) given[bound] = present >> bound & 1 ? N::concrete(integer()) : 0;
    const int64_t n = static_cast<int64_t>(sizes.size()), step = present & 4 ? given[2] : 1;
    if (step == 0) fail("a slice's step is zero");
    const int64_t lowest = step < 0 ? -1 : 0, highest = step < 0 ? n - 1 : n;
    const auto bound = [&](int which, int64_t otherwise) {
      if (!(present >> which & 1)) return otherwise;
      return std::clamp(given[which] < 0 ? given[which] + n : given[which], lowest, highest);
    };
    const int64_t stop = bound(1, step < 0 ? lowest : highest);
    // Compared by what is left, as a step may be so large that adding it overflows.
    for (int64_t i = bound(0, step < 0 ? highest : lowest); step < 0 ? i > stop : i < stop;) {
      out.push(sizes[static_cast<size_t>(i)]);
      if (step < 0 ? step <= stop - i : step >= stop - i) return;
      i += step;
    }
  }

  const int64_t* next_;
  const Env& env_;
};

/* A program is: the argument whose layout the output takes, or -1; the length of the shape's words; these; the dtype's.
 */
inline const int64_t* checked_program(const int64_t* words, size_t n) {
  if (n < 2 || words[1] < 1 || static_cast<size_t>(words[1]) >= n - 2)
    throw RuleFailure("the compiled rule is damaged");
  return words;
}

inline int like_argument(const int64_t* words, size_t n) { return static_cast<int>(checked_program(words, n)[0]); }

template <class Int, class Env>
void evaluate_shape(const int64_t* words, size_t n, const Env& env, SmallShape<Int>& out) {
  out.clear();
  RuleReader<Int, Env>(checked_program(words, n) + 2, env).shape(out);
  for (const Int& size : out) {
    if (RuleNumbers<Int>::known_negative(size)) {
      throw RuleFailure("the shape is " + shape_text(out) + ", and no size can be negative");
    }
  }
}

template <class Int, class Env>
int evaluate_dtype(const int64_t* words, size_t n, const Env& env) {
  return RuleReader<Int, Env>(checked_program(words, n) + 2 + words[1], env).dtype();
}

}  // namespace opbridge
#endif

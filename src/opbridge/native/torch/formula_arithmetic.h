// What `+` and `<` mean in a derivative formula, for tensors, numbers and lists, as in Python.
#ifndef OPBRIDGE_NATIVE_TORCH_FORMULA_ARITHMETIC_H
#define OPBRIDGE_NATIVE_TORCH_FORMULA_ARITHMETIC_H

#include <ATen/TensorOperators.h>

#include "../rule_values.h"
#include "formula_values.h"

namespace opbridge::torch_adapter {

// Takes both operands from the stack and puts the result there.
class FormulaArithmetic : protected FormulaValues {
 protected:
  using FormulaValues::FormulaValues;

  void arithmetic(char sign) {
    const c10::IValue right = pop(), left = pop();
    if (left.isTensor() || right.isTensor()) return push(on_tensors(sign, left, right));
    if (left.isList() && right.isList()) {
      std::vector<c10::SymInt> joined = ints(left);
      for (c10::SymInt& value : ints(right)) joined.push_back(std::move(value));
      return push(c10::SymIntArrayRef(joined));
    }
    if (sign == '/' || sign == '^' || left.isDouble() || right.isDouble()) {
      const double a = to_real(left), b = to_real(right);
      switch (sign) {
        case '+':
          return push(a + b);
        case '-':
          return push(a - b);
        case '*':
          return push(a * b);
        case '/':
          return push(a / b);
        case '%':
          return push(a - std::floor(a / b) * b);
        case 'f':
          return push(std::floor(a / b));
        case '^':
          return left.isDouble() || right.isDouble() || b < 0
                     ? push(std::pow(a, b))
                     : push(static_cast<int64_t>(std::llround(std::pow(a, b))));
      }
    }
    const c10::SymInt a = to_int(left), b = to_int(right);
    switch (sign) {
      case '+':
        return push(a + b);
      case '-':
        return push(a - b);
      case '*':
        return push(a * b);
      case '%':
        return push(a - floored(a, b) * b);
      case 'f':
        return push(floored(a, b));
    }
    fail("uses an operator that numbers do not have");
  }

  void compare(Relation relation) {
    const c10::IValue right = pop(), left = pop();
    if (right.isTensor() && is_number(left)) return push(related(relation, left.toScalar(), right.toTensor()));
    if (left.isTensor() && is_number(right)) return push(related(relation, left.toTensor(), right.toScalar()));
    if (left.isTensor() || right.isTensor()) return push(related(relation, as_tensor(left), as_tensor(right)));
    if (!left.isInt() && !left.isSymInt() && !left.isDouble())
      return push(relation == Relation::Equal ? left == right : !(left == right));
    if (left.isDouble() || right.isDouble()) return push(related(relation, to_real(left), to_real(right)));
    push(related(relation, to_int(left), to_int(right)));
  }

 private:
  // As Python divides, which C++ does for symbols and not for numbers.
  c10::SymInt floored(const c10::SymInt& a, const c10::SymInt& b) const {
    const std::optional<int64_t> over = a.maybe_as_int(), under = b.maybe_as_int();
    if (under == 0) fail("divides by zero");
    if (under == -1) return c10::SymInt(0) - a;
    if (!over || !under) return a / b;
    return *over / *under - (*over % *under != 0 && (*over < 0) != (*under < 0) ? 1 : 0);
  }

  // Numbers stay numbers wherever a PyTorch operator accepts one.
  at::Tensor on_tensors(char sign, const c10::IValue& left, const c10::IValue& right) const {
    if (is_number(left)) {
      const at::Tensor& b = right.toTensor();
      switch (sign) {
        case '+':
        case '*':
          return on_tensors(sign, right, left);
        case '-':
          return at::rsub(b, left.toScalar());
        case '%':
          return at::remainder(left.toScalar(), b);
        case '^':
          return at::pow(left.toScalar(), b);
        default:
          return on_tensors(sign, as_tensor(left, b), right);
      }
    }
    const at::Tensor a = as_tensor(left);
    if (sign == '@') return at::matmul(a, as_tensor(right, a));
    return is_number(right) ? applied(sign, a, right.toScalar()) : applied(sign, a, as_tensor(right, a));
  }

  // b is a tensor, or a number that does not become one.
  template <class Other>
  static at::Tensor applied(char sign, const at::Tensor& a, const Other& b) {
    switch (sign) {
      case '+':
        return at::add(a, b);
      case '-':
        return at::sub(a, b);
      case '*':
        return at::mul(a, b);
      case '/':
        return at::div(a, b);
      case '%':
        return at::remainder(a, b);
      case 'f':
        return at::floor_divide(a, b);
      default:
        return at::pow(a, b);
    }
  }
};

}  // namespace opbridge::torch_adapter

#endif

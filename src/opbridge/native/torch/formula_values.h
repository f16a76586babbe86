// The values that a derivative formula computes with, on a stack: tensors, numbers, lists of them, None.
#ifndef OPBRIDGE_NATIVE_TORCH_FORMULA_VALUES_H
#define OPBRIDGE_NATIVE_TORCH_FORMULA_VALUES_H

#include <ATen/ScalarOps.h>

#include "entry.h"

namespace opbridge::torch_adapter {

// What the names in a formula stand for.
struct FormulaInputs {
  const std::vector<c10::IValue>& arguments;
  const std::vector<at::Tensor>& grads;
  const std::vector<at::Tensor>& results;
};

// The stack, and what a value is where a tensor, a number or a list is asked for.
class FormulaValues {
 protected:
  FormulaValues(const Definition& definition, const FormulaInputs& inputs) : definition_(definition), inputs_(inputs) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw Failure(kernel_error, "the derivative of " + definition_.full_name + " " + what);
  }

  void push(c10::IValue value) { stack_.push_back(std::move(value)); }
  c10::IValue pop() {
    c10::IValue top = std::move(stack_.back());
    stack_.pop_back();
    return top;
  }

  static c10::SymInt to_int(const c10::IValue& value) { return value.toSymInt(); }
  static double to_real(const c10::IValue& value) {
    return value.isDouble() ? value.toDouble() : static_cast<double>(value.toInt());
  }

  static bool is_number(const c10::IValue& value) {
    return value.isInt() || value.isSymInt() || value.isDouble() || value.isBool();
  }

  // If no operator accepts a number, it becomes a tensor that does not promote the dtype of the other operand.  It is
  // not a "wrapped number": PyTorch shows those to Python, and so to tracers, as numbers.
  at::Tensor as_tensor(const c10::IValue& value, const at::Tensor& beside = {}) const {
    if (value.isTensor()) return value.toTensor();
    if (!is_number(value)) fail("uses a " + value.tagKind() + " where a tensor is needed");
    const at::Tensor like = beside.defined() ? beside : any_float();
    const at::Scalar number = value.toScalar();
    at::ScalarType dtype = at::result_type(like, number);
    // Which would be PyTorch's default, and too coarse a number for a tensor of float64 that comes later.
    if (number.isFloatingPoint() && !is_inexact(like)) dtype = any_float().scalar_type();
    return at::full({}, number, like.options().dtype(dtype));
  }

  static bool is_inexact(const at::Tensor& tensor) { return tensor.is_floating_point() || tensor.is_complex(); }

  // A float tensor of the formula: a gradient, because gradients are floats.
  at::Tensor any_float() const {
    for (const at::Tensor& grad : inputs_.grads)
      if (grad.defined()) return grad;
    fail("has no gradient to start from");
  }

  bool truth(const c10::IValue& value) const {
    if (value.isBool()) return value.toBool();
    if (value.isTensor()) fail("chooses by a tensor's values; use where(condition, a, b)");
    return value.isDouble() ? value.toDouble() != 0 : to_int(value) != 0;
  }

  void make_list(int64_t n) {
    const auto first = stack_.end() - n;
    if (n > 0 && first->isTensor()) {
      std::vector<at::Tensor> tensors;
      for (auto it = first; it != stack_.end(); ++it) tensors.push_back(it->toTensor());
      stack_.erase(first, stack_.end());
      return push(std::move(tensors));
    }
    std::vector<c10::SymInt> ints;
    for (auto it = first; it != stack_.end(); ++it) ints.push_back(to_int(*it));
    stack_.erase(first, stack_.end());
    push(c10::SymIntArrayRef(ints));
  }

  static std::vector<c10::SymInt> ints(const c10::IValue& list) {
    std::vector<c10::SymInt> values;
    for (const c10::IValue& item : list.toListRef()) values.push_back(item.toSymInt());
    return values;
  }

  const Definition& definition_;
  const FormulaInputs& inputs_;
  std::vector<c10::IValue> stack_;
};

}  // namespace opbridge::torch_adapter

#endif

// Runs derivative formulas: a stack machine whose every tensor operation goes through PyTorch's dispatcher, so that a
// formula differentiates, traces and batches like code the user wrote in Python.  native/aten.py writes its code.
#ifndef OPBRIDGE_NATIVE_TORCH_FORMULA_H
#define OPBRIDGE_NATIVE_TORCH_FORMULA_H

#include <ATen/TensorIndexing.h>

#include <algorithm>
#include <cstring>

#include "formula_calls.h"

namespace opbridge::torch_adapter {

// One run of a formula on a stack of values; the code is our own compiler's, whose stack is balanced, and is believed.
class FormulaMachine : FormulaCalls {
 public:
  FormulaMachine(const Definition& definition, const FormulaPlan& formula, const FormulaInputs& inputs)
      : FormulaCalls(definition, inputs), formula_(formula) {}

  // The gradients of each target in turn: one tensor (undefined for "none"), or as many as a list argument holds.
  std::vector<std::vector<at::Tensor>> run() {
    const std::vector<int64_t>& code = formula_.code;
    try {
      for (at_ = 0; at_ < code.size();) step(static_cast<Code>(code[at_++]));
    } catch (const c10::OutOfMemoryError&) {
      throw;
    } catch (const c10::Error& error) {
      fail(std::string("fails: ") + error.what_without_backtrace());
    }
    if (stack_.size() == 1 && stack_[0].isTuple()) {
      const c10::IValue packed = pop();
      stack_ = packed.toTupleRef().elements().vec();
    }
    if (stack_.size() != formula_.targets.size())
      fail("gives " + std::to_string(stack_.size()) + " gradients for " + std::to_string(formula_.targets.size()) +
           " arguments");
    std::vector<std::vector<at::Tensor>> gradients;
    for (const c10::IValue& value : stack_) {
      if (value.isTensorList())
        gradients.push_back(value.toTensorVector());
      else
        gradients.push_back({value.isNone() ? at::Tensor() : as_tensor(value)});
    }
    return gradients;
  }

 private:
  int64_t operand() { return formula_.code[at_++]; }
  const std::string& text() { return formula_.strings[operand()]; }

  void step(Code code) {
    switch (code) {
      case Code::Argument:
        return push(inputs_.arguments[operand()]);
      case Code::Grad:
        return push(inputs_.grads[operand()]);
      case Code::Result:
        return push(inputs_.results[operand()]);
      case Code::Integer:
        return push(operand());
      case Code::Real: {
        const int64_t bits = operand();
        double value;
        std::memcpy(&value, &bits, sizeof value);
        return push(value);
      }
      case Code::Boolean:
        return push(operand() != 0);
      case Code::None:
        return push(c10::IValue());
      case Code::Text:
        return push(text());
      case Code::Dtype:
        return push(scalar_type(operand()));
      case Code::List:
        return make_list(operand());
      case Code::Call:
        return call();
      case Code::Arithmetic:
        return arithmetic(static_cast<char>(operand()));
      case Code::Compare:
        return compare(static_cast<Relation>(operand()));
      case Code::Negate: {
        const c10::IValue value = pop();
        if (value.isTensor()) return push(value.toTensor().neg());
        if (value.isDouble()) return push(-value.toDouble());
        return push(c10::SymInt(0) - to_int(value));
      }
      case Code::Not:
        return push(!truth(pop()));
      case Code::Shape:
        return push(pop().toTensor().sym_sizes());
      case Code::DtypeOf:
        return push(pop().toTensor().scalar_type());
      case Code::Rank:
        return push(pop().toTensor().dim());
      case Code::Numel:
        return push(pop().toTensor().sym_numel());
      case Code::Index:
        return index(operand());
      case Code::JumpIfFalse: {
        const int64_t target = operand();
        if (!truth(pop())) at_ = static_cast<size_t>(target);
        return;
      }
      case Code::Jump:
        at_ = static_cast<size_t>(operand());
        return;
      case Code::IsNone: {
        const c10::IValue value = pop();
        return push(value.isNone() || (value.isTensor() && !value.toTensor().defined()));
      }
    }
    fail("was compiled by another version of opbridge");
  }

  // name, overload, positional count, keyword count, keyword names
  void call() {
    const std::string& name = text();
    const std::string& overload = text();
    const int64_t positional = operand(), keywords = operand();
    std::vector<const std::string*> names;
    for (int64_t i = 0; i < keywords; ++i) names.push_back(&text());
    FormulaCalls::call(name, overload, positional, names);
  }

  // value[i, a:b:c, None, ...]: the operands say what each subscript is; a slice is three values on the stack.
  void index(int64_t n) {
    std::vector<Subscript> kinds;
    for (int64_t i = 0; i < n; ++i) kinds.push_back(static_cast<Subscript>(operand()));
    std::vector<at::indexing::TensorIndex> subscripts;
    const auto bound = [](const c10::IValue& v) { return v.isNone() ? std::optional<c10::SymInt>() : to_int(v); };
    for (int64_t i = n - 1; i >= 0; --i) {
      if (kinds[i] == Subscript::Integer) {
        subscripts.emplace_back(to_int(pop()).guard_int(__FILE__, __LINE__));
      } else if (kinds[i] == Subscript::Slice) {
        const c10::IValue step = pop(), stop = pop(), start = pop();
        subscripts.emplace_back(at::indexing::Slice(bound(start), bound(stop), bound(step)));
      } else if (kinds[i] == Subscript::NewAxis) {
        subscripts.emplace_back(at::indexing::None);
      } else {
        subscripts.emplace_back(at::indexing::Ellipsis);
      }
    }
    std::reverse(subscripts.begin(), subscripts.end());
    const c10::IValue container = pop();
    if (container.isTensor()) return push(container.toTensor().index(subscripts));
    const std::vector<c10::IValue> items =
        container.isTuple() ? container.toTupleRef().elements().vec() : container.toListRef().vec();
    const auto count = static_cast<int64_t>(items.size());
    if (subscripts.size() == 1 && kinds[0] == Subscript::Integer) {
      const int64_t k = subscripts[0].integer().guard_int(__FILE__, __LINE__);
      if (k < -count || k >= count) fail("takes item " + std::to_string(k) + " of " + std::to_string(count));
      return push(items[k < 0 ? k + count : k]);
    }
    if (subscripts.size() != 1 || kinds[0] != Subscript::Slice) fail("takes a list apart as if it were a tensor");
    const auto clamp = [&](const c10::SymInt& place) {
      int64_t k = place.guard_int(__FILE__, __LINE__);
      if (k < 0) k += count;
      return std::min(std::max<int64_t>(k, 0), count);
    };
    const auto& range = subscripts[0].slice();
    const int64_t step = range.step().guard_int(__FILE__, __LINE__);
    if (step < 1) fail("takes a slice of a list backwards");
    int64_t taken = 0;
    for (int64_t k = clamp(range.start()), stop = clamp(range.stop()); k < stop; k += step, ++taken) push(items[k]);
    make_list(taken);
  }

  const FormulaPlan& formula_;
  size_t at_ = 0;
};

}  // namespace opbridge::torch_adapter

#endif

// Runs derivative formulas: a stack machine whose every tensor operation goes through PyTorch's dispatcher, so that a
// formula differentiates, traces and batches like code the user wrote in Python.  native/aten.py writes its code.
#pragma once

#include <ATen/ScalarOps.h>
#include <ATen/TensorIndexing.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <mutex>
#include <unordered_map>

#include "entry.h"

namespace opbridge::torch_adapter {

// What the names in a formula stand for.
struct FormulaInputs {
  const std::vector<c10::IValue>& arguments;
  const std::vector<at::Tensor>& grads;
  const std::vector<at::Tensor>& results;
};

// One run of a formula on a stack of values; the code is our own compiler's, whose stack is balanced, and is believed.
class FormulaMachine {
 public:
  FormulaMachine(const Definition& definition, const FormulaPlan& formula, const FormulaInputs& inputs)
      : definition_(definition), formula_(formula), inputs_(inputs) {}

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
  // What becomes of a number that a call gives: some overloads take one, all take a tensor.
  enum class Numbers { AsTheyAre, AsTensors };

  [[noreturn]] void fail(const std::string& what) const {
    throw Failure(kernel_error, "the derivative of " + definition_.full_name + " " + what);
  }

  int64_t operand() { return formula_.code[at_++]; }
  const std::string& text() { return formula_.strings[operand()]; }
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

  // Where nothing takes a number as it is, it becomes a tensor that does not raise the dtype of the one beside it. That
  // is no "wrapped number": to Python, and so to whatever traces there, PyTorch shows those as the numbers again.
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

  // Of what the formula is about: a gradient, as those are floats.
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

  // As Python divides, which C++ does for symbols and not for numbers.
  c10::SymInt floored(const c10::SymInt& a, const c10::SymInt& b) const {
    const std::optional<int64_t> over = a.maybe_as_int(), under = b.maybe_as_int();
    if (under == 0) fail("divides by zero");
    if (under == -1) return c10::SymInt(0) - a;
    if (!over || !under) return a / b;
    return *over / *under - (*over % *under != 0 && (*over < 0) != (*under < 0) ? 1 : 0);
  }

  // Numbers go as they are wherever an operator of PyTorch's takes one.
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
    if (is_number(right) && sign != '@') {
      const at::Scalar b = right.toScalar();
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
    const at::Tensor b = as_tensor(right, a);
    switch (sign) {
      case '+':
        return at::add(a, b);
      case '-':
        return at::sub(a, b);
      case '*':
        return at::mul(a, b);
      case '/':
        return at::div(a, b);
      case '@':
        return at::matmul(a, b);
      case '%':
        return at::remainder(a, b);
      case 'f':
        return at::floor_divide(a, b);
      default:
        return at::pow(a, b);
    }
  }

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

  template <class Other>
  static at::Tensor compared(Relation relation, const at::Tensor& a, const Other& b) {
    switch (relation) {
      case Relation::Equal:
        return at::eq(a, b);
      case Relation::NotEqual:
        return at::ne(a, b);
      case Relation::Less:
        return at::lt(a, b);
      case Relation::LessEqual:
        return at::le(a, b);
      case Relation::Greater:
        return at::gt(a, b);
      default:
        return at::ge(a, b);
    }
  }

  // What holds of b and a where `relation` holds of a and b.
  static Relation mirrored(Relation relation) {
    switch (relation) {
      case Relation::Less:
        return Relation::Greater;
      case Relation::LessEqual:
        return Relation::GreaterEqual;
      case Relation::Greater:
        return Relation::Less;
      case Relation::GreaterEqual:
        return Relation::LessEqual;
      default:
        return relation;
    }
  }

  void compare(Relation relation) {
    const c10::IValue right = pop(), left = pop();
    if (right.isTensor() && is_number(left))
      return push(compared(mirrored(relation), right.toTensor(), left.toScalar()));
    if (left.isTensor() && is_number(right)) return push(compared(relation, left.toTensor(), right.toScalar()));
    if (left.isTensor() || right.isTensor()) return push(compared(relation, as_tensor(left), as_tensor(right)));
    if (!left.isInt() && !left.isSymInt() && !left.isDouble())
      return push(relation == Relation::Equal ? left == right : !(left == right));
    const auto decide = [relation](const auto& a, const auto& b) {
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
    };
    if (left.isDouble() || right.isDouble()) return push(decide(to_real(left), to_real(right)));
    push(decide(to_int(left), to_int(right)));
  }

  static std::vector<c10::SymInt> ints(const c10::IValue& list) {
    std::vector<c10::SymInt> values;
    for (const c10::IValue& item : list.toListRef()) values.push_back(item.toSymInt());
    return values;
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

  // name, overload ("?" where the arguments decide), positional count, keyword count, keyword names
  void call() {
    const std::string& name = text();
    const std::string& overload = text();
    const int64_t positional = operand(), keywords = operand();
    std::vector<const std::string*> names;
    for (int64_t i = 0; i < keywords; ++i) names.push_back(&text());
    const size_t first = stack_.size() - static_cast<size_t>(positional + keywords);
    Stack given(std::make_move_iterator(stack_.begin() + static_cast<std::ptrdiff_t>(first)),
                std::make_move_iterator(stack_.end()));
    stack_.resize(first);
    // The dispatcher's own entry is one that vmap does not know, and C++ never calls.
    if (name == "aten::conj" && given.size() == 1) return push(as_tensor(given[0]).conj());
    std::optional<c10::OperatorHandle> named;
    if (overload != "?") named = c10::Dispatcher::singleton().findSchema({name, overload});
    if (overload != "?" && !named) fail("calls " + name + ", which PyTorch does not know");
    std::string reasons;
    if (named && try_call(*named, given, positional, names, Numbers::AsTheyAre, reasons)) return;
    const auto overloads = named && !asks_for_scalars(given) ? std::vector<c10::OperatorHandle>() : overloads_of(name);
    for (const Numbers numbers : {Numbers::AsTheyAre, Numbers::AsTensors}) {
      reasons.clear();
      if (named && numbers == Numbers::AsTensors) {
        if (try_call(*named, given, positional, names, numbers, reasons)) return;
        break;
      }
      for (const c10::OperatorHandle& handle : overloads)
        if (try_call(handle, given, positional, names, numbers, reasons)) return;
    }
    fail("calls " + name +
         (reasons.empty() ? ", which PyTorch does not know" : ", and no overload takes these arguments:" + reasons));
  }

  // Of numbers and tensors of bool alone, PyTorch would make its default dtype.
  static bool asks_for_scalars(const Stack& given) {
    return std::any_of(given.begin(), given.end(), is_number) && beside(given).defined();
  }

  static at::Tensor beside(const Stack& given) {
    for (const c10::IValue& value : given)
      if (value.isTensor() && value.toTensor().defined() && value.toTensor().scalar_type() != at::kBool)
        return value.toTensor();
    return {};
  }

  static std::vector<c10::OperatorHandle> overloads_of(const std::string& name) {
    std::vector<c10::OperatorHandle> found;
    for (const auto& one : torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name)))
      // TorchScript has more of them, which compute with numbers.
      if (const auto handle = c10::Dispatcher::singleton().findSchema({name, one->schema().overload_name()}))
        found.push_back(*handle);
    return found;
  }

  bool try_call(const c10::OperatorHandle& handle, const Stack& given, int64_t positional,
                const std::vector<const std::string*>& names, Numbers numbers, std::string& reasons) {
    Stack arguments;
    const std::string misfit = fit(handle.schema(), given, positional, names, numbers, arguments);
    if (misfit.empty())
      finish(handle, arguments);
    else
      reasons += "\n  " + c10::toString(handle.schema()) + ": " + misfit;
    return misfit.empty();
  }

  void finish(const c10::OperatorHandle& handle, Stack& arguments) {
    handle.callBoxed(arguments);
    if (arguments.size() == 1) return push(std::move(arguments[0]));
    push(c10::ivalue::Tuple::create(std::move(arguments)));
  }

  // Lays `given` out for a schema; an explanation where it does not fit.
  std::string fit(const c10::FunctionSchema& schema, const Stack& given, int64_t positional,
                  const std::vector<const std::string*>& names, Numbers numbers, Stack& arguments) const {
    const at::Tensor like = beside(given);
    size_t used = 0;
    for (size_t i = 0; i < schema.arguments().size(); ++i) {
      const c10::Argument& argument = schema.arguments()[i];
      c10::IValue value;
      if (static_cast<int64_t>(i) < positional) {
        if (argument.kwarg_only()) return "too many positional arguments";
        value = given[i];
        ++used;
      } else {
        size_t k = 0;
        while (k < names.size() && *names[k] != argument.name()) ++k;
        if (k < names.size()) {
          value = given[static_cast<size_t>(positional) + k];
          ++used;
        } else if (argument.default_value()) {
          value = *argument.default_value();
        } else {
          return "'" + argument.name() + "' is missing";
        }
      }
      // None is how the array API leaves an axis out.
      if (value.isNone() && argument.default_value() && argument.real_type()->kind() != c10::TypeKind::OptionalType)
        value = *argument.default_value();
      if (numbers == Numbers::AsTensors && takes_tensor(*argument.real_type()) && is_number(value))
        value = as_tensor(value, like);
      if (!coerce(*argument.real_type(), value))
        return "'" + argument.name() + "' is a " + value.tagKind() + ", not a " +
               argument.real_type()->annotation_str();
      arguments.push_back(std::move(value));
    }
    return used == given.size() ? "" : "there are more arguments than it takes";
  }

  static bool takes_tensor(const c10::Type& type) {
    return type.kind() == c10::TypeKind::TensorType ||
           (type.kind() == c10::TypeKind::OptionalType &&
            takes_tensor(*type.castRaw<c10::OptionalType>()->getElementType()));
  }

  bool coerce(const c10::Type& type, c10::IValue& value) const {
    switch (type.kind()) {
      case c10::TypeKind::OptionalType:
        return value.isNone() || coerce(*type.castRaw<c10::OptionalType>()->getElementType(), value);
      case c10::TypeKind::TensorType:
        return value.isTensor();
      case c10::TypeKind::NumberType:
        return value.isScalar() || value.isSymInt();
      case c10::TypeKind::FloatType:
        if (value.isInt()) value = static_cast<double>(value.toInt());
        return value.isDouble();
      case c10::TypeKind::IntType:
        return value.isInt() || value.isSymInt() || value.isScalar();
      case c10::TypeKind::SymIntType:
        return value.isInt() || value.isSymInt();
      case c10::TypeKind::BoolType:
        return value.isBool();
      case c10::TypeKind::StringType:
        return value.isString();
      case c10::TypeKind::ListType: {
        const c10::Type& element = *type.castRaw<c10::ListType>()->getElementType();
        if (element.kind() == c10::TypeKind::TensorType) return value.isTensorList();
        if (value.isInt() || value.isSymInt()) value = c10::SymIntArrayRef({to_int(value)});
        if (value.isTensorList() || !value.isList()) return false;
        if (element.kind() != c10::TypeKind::IntType) return true;
        std::vector<int64_t> concrete;
        for (const c10::SymInt& item : ints(value)) concrete.push_back(item.guard_int(__FILE__, __LINE__));
        value = concrete;
        return true;
      }
      default:
        return true;
    }
  }

  const Definition& definition_;
  const FormulaPlan& formula_;
  const FormulaInputs& inputs_;
  std::vector<c10::IValue> stack_;
  size_t at_ = 0;
};

}  // namespace opbridge::torch_adapter

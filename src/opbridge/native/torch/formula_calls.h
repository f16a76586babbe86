// A call in a derivative formula: which overload of PyTorch's operator takes the arguments, and how they are laid out.
#ifndef OPBRIDGE_NATIVE_TORCH_FORMULA_CALLS_H
#define OPBRIDGE_NATIVE_TORCH_FORMULA_CALLS_H

#include <torch/csrc/jit/runtime/operator.h>

#include "formula_arithmetic.h"

namespace opbridge::torch_adapter {

// Takes the arguments from the stack and puts the results there; every call goes through the dispatcher.
class FormulaCalls : protected FormulaArithmetic {
 protected:
  using FormulaArithmetic::FormulaArithmetic;

  // The overload is "?" where the arguments decide; the last of them are the named ones.
  void call(const std::string& name, const std::string& overload, int64_t positional,
            const std::vector<const std::string*>& names) {
    const size_t first = stack_.size() - static_cast<size_t>(positional) - names.size();
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

 private:
  // What becomes of a number that a call gives: some overloads take one, all take a tensor.
  enum class Numbers { AsTheyAre, AsTensors };

  // From numbers and bool tensors alone, PyTorch would derive its default dtype.
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
};

}  // namespace opbridge::torch_adapter

#endif

// Operators that PyTorch has itself, as MindSpore calls them.
#ifndef OPBRIDGE_NATIVE_TORCH_ATEN_TARGET_H
#define OPBRIDGE_NATIVE_TORCH_ATEN_TARGET_H

#include <ATen/ops/from_blob.h>

#include <map>
#include <mutex>

#include "../gil.h"
#include "../target.h"
#include "../unknown_sizes.h"
#include "parallel.h"
#include "tensor_function.h"

namespace opbridge::torch_adapter {

// A TensorFunction as a Target; its shapes come from meta tensors, and it holds no tensor between calls.
class FunctionTarget final : public Target {
 public:
  using Shape = std::vector<int64_t>;

  explicit FunctionTarget(std::shared_ptr<const TensorFunction> function)
      : Target(function->inputs().size()), function_(std::move(function)) {}

  const std::shared_ptr<const TensorFunction>& function() const { return function_; }

  std::vector<Output> infer(const std::vector<Shape>& inputs) override {
    return described([&] {
      if (all_known(inputs)) return known(inputs);
      return infer_unknown(inputs, [&](const std::vector<Shape>& shapes) { return known(shapes); });
    });
  }

  void run(int nparam, void** params, const int* ndims, int64_t* const* shapes, const char* const* dtypes,
           void*) override {
    check_count(nparam, this->inputs());
    described([&] {
      // PyTorch's engine refuses to run under Python's lock, which MindSpore holds where it runs things at once.
      std::optional<WithoutGil> no_gil;
      std::optional<OneThreadFewer> fewer;
      if (PyGILState_Check())
        no_gil.emplace();
      else
        fewer.emplace();
      const at::NoGradGuard no_gradients;
      Tensors inputs, outputs;
      for (size_t i = 0; i < static_cast<size_t>(nparam); ++i) {
        const at::IntArrayRef sizes(shapes[i], static_cast<size_t>(ndims[i]));
        (i < this->inputs() ? inputs : outputs).push_back(at::from_blob(params[i], sizes, type_named(dtypes[i])));
      }
      function_->into(inputs, outputs);
    });
  }

 private:
  static constexpr size_t kMostShapes = 128;

  std::vector<Output> known(const std::vector<Shape>& inputs) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = inferred_.find(inputs);
      if (found != inferred_.end()) return found->second;
    }
    // Not under the lock: what a meta kernel in Python needs is Python's lock, whose holder may wait for this one.
    std::vector<Output> outputs;
    try {
      outputs = by_meta(inputs);
    } catch (const c10::NotImplementedError&) {
      outputs_depend_on_values();
    } catch (const pybind11::error_already_set& error) {
      if (!error.matches(PyExc_NotImplementedError)) throw;
      outputs_depend_on_values();
    }
    const std::lock_guard lock(mutex_);
    if (inferred_.size() >= kMostShapes) inferred_.clear();
    inferred_.emplace(inputs, outputs);
    return outputs;
  }

  [[noreturn]] static void outputs_depend_on_values() {
    throw std::runtime_error(
        "what it returns depends on the values of its tensors, which are not known before it runs; call it in PyNative "
        "mode, outside of ms.jit");
  }

  std::vector<Output> by_meta(const std::vector<Shape>& inputs) const {
    const at::NoGradGuard no_gradients;
    Tensors tensors;
    for (size_t i = 0; i < inputs.size(); ++i)
      tensors.push_back(at::empty(inputs[i], at::TensorOptions(function_->inputs()[i]).device(at::kMeta)));
    std::vector<Output> outputs;
    for (const at::Tensor& tensor : function_->like(tensors)) {
      const int32_t dtype = dtype_code(tensor.scalar_type());
      TORCH_CHECK(dtype >= 0, "a result is of dtype ", tensor.scalar_type(), ", which MindSpore lacks");
      outputs.push_back({tensor.sizes().vec(), dtype});
    }
    return outputs;
  }

  // MindSpore tells "bool_" in PyNative and "bool" in a graph.
  static at::ScalarType type_named(const std::string& name) {
    static const std::map<std::string, int32_t> codes = {
#define OB_DTYPE_NAME(code, name, bytes) {#name, code},
        OB_FOR_EACH_DTYPE(OB_DTYPE_NAME)
#undef OB_DTYPE_NAME
            {"bool_", OB_bool}};
    const auto found = codes.find(name);
    TORCH_CHECK(found != codes.end(), "a tensor is of dtype ", name, ", which PyTorch lacks");
    return scalar_type(found->second);
  }

  // Runs what may throw so that the user reads one sentence which begins with the operator.
  template <class Body>
  auto described(Body&& body) const -> decltype(body()) {
    try {
      return body();
    } catch (const c10::Error& error) {
      fail(error.what_without_backtrace());
    } catch (python_error& error) {
      error.persist();
      fail(error.what());
    } catch (const pybind11::error_already_set& error) {
      const std::string said = error.what();  // "RuntimeError: ..."
      fail(said.substr(said.find(": ") + 2));
    } catch (const std::exception& error) {
      fail(error.what());
    }
  }

  [[noreturn]] void fail(const std::string& said) const {
    throw std::runtime_error(function_->name() + ": " + said.substr(0, said.find('\n')));
  }

  const std::shared_ptr<const TensorFunction> function_;
  std::mutex mutex_;
  std::map<std::vector<Shape>, std::vector<Output>> inferred_;
};

inline PyObject* capsule_of(std::shared_ptr<const TensorFunction> function) {
  auto owner = std::make_unique<std::shared_ptr<Target>>(std::make_shared<FunctionTarget>(std::move(function)));
  PyObject* capsule = PyCapsule_New(owner.get(), kTargetCapsule, [](PyObject* self) {
    delete static_cast<std::shared_ptr<Target>*>(PyCapsule_GetPointer(self, kTargetCapsule));
  });
  if (capsule) owner.release();
  return capsule;
}

inline FunctionTarget& target_in(PyObject* capsule) {
  auto* owner = static_cast<std::shared_ptr<Target>*>(PyCapsule_GetPointer(capsule, kTargetCapsule));
  if (!owner) Overload::throw_python();
  return dynamic_cast<FunctionTarget&>(**owner);
}

// The arguments of a call with a meta tensor for each MindSpore tensor: the fixed values, and the sources of the
// others.
class SlotArguments {
 public:
  SlotArguments(const Overload& overload, const Tensors& slots, bool numbers_too)
      : overload_(overload), slots_(slots), numbers_too_(numbers_too), sources_(overload.names.size()) {}

  std::optional<c10::IValue> operator()(size_t index, PyObject* object, std::string* why) {
    const c10::Argument& argument = overload_.schema().arguments()[index];
    const bool optional = argument.type()->kind() == c10::TypeKind::OptionalType;
    const c10::Type* type = argument.type().get();
    if (optional && object == Py_None) return c10::IValue();
    if (optional) type = type->containedType(0).get();
    Source& source = sources_[index];
    if (type->kind() == c10::TypeKind::TensorType) {
      if (numbers_too_ && is_number(object)) return c10::IValue(number_as_tensor(object));
      source.kind = Source::Kind::Tensor;
      return slot(source, argument, object, why);
    }
    if (!PyList_Check(object) && !PyTuple_Check(object)) return refused(argument, object, why);
    source.kind = Source::Kind::List;
    const bool gaps = type->containedType(0)->kind() == c10::TypeKind::OptionalType;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
      THPObjectPtr item(Py_NewRef(PySequence_Fast_GET_ITEM(object, i)));  // looking at it may run Python code
      if (gaps && item.get() == Py_None)
        source.inputs.push_back(Source::kAbsent);
      else if (!slot(source, argument, item.get(), why))
        return std::nullopt;
    }
    return c10::IValue();
  }

  // `values`: what bind_call made of the arguments.
  std::vector<Source> sources(Stack values) && {
    for (size_t i = 0; i < sources_.size(); ++i)
      if (sources_[i].kind == Source::Kind::Fixed) sources_[i].fixed = std::move(values[i]);
    return std::move(sources_);
  }

 private:
  std::optional<c10::IValue> slot(Source& source, const c10::Argument& argument, PyObject* object, std::string* why) {
    if (!THPVariable_Check(object)) return refused(argument, object, why);
    for (size_t i = 0; i < slots_.size(); ++i)
      if (slots_[i].is_same(THPVariable_Unpack(object))) source.inputs.push_back(static_cast<int64_t>(i));
    return c10::IValue();
  }

  static std::optional<c10::IValue> refused(const c10::Argument& argument, PyObject* object, std::string* why) {
    if (why)
      *why = "argument '" + argument.name() + "': expected a mindspore.Tensor for " + argument.type()->str() +
             ", got " + Py_TYPE(object)->tp_name;
    return std::nullopt;
  }

  const Overload& overload_;
  const Tensors& slots_;
  const bool numbers_too_;
  std::vector<Source> sources_;
};

// Every tensor of a call, in the order of the call.
inline Tensors tensors_of(const PythonCall& call) {
  Tensors found;
  for (size_t i = 0; i < call.count + call.keyword_count(); ++i) {
    PyObject* object = call.args[i];
    if (THPVariable_Check(object)) found.push_back(THPVariable_Unpack(object));
    if (!PyList_Check(object) && !PyTuple_Check(object)) continue;
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(object); ++k)
      if (THPObjectPtr item(Py_NewRef(PySequence_Fast_GET_ITEM(object, k))); THPVariable_Check(item.get()))
        found.push_back(THPVariable_Unpack(item.get()));
  }
  return found;
}

// Whether a call draws from PyTorch's generator: one with nothing to drop does not, whatever its operator's tag says.
inline bool draws(const c10::OperatorHandle& op, const Stack& values) {
  if (!op.hasTag(at::Tag::nondeterministic_seeded)) return false;
  const auto value_of = [&](const char* name) -> const c10::IValue* {
    for (size_t i = 0; i < values.size(); ++i)
      if (op.schema().arguments()[i].name() == name) return &values[i];
    return nullptr;
  };
  const auto is_zero = [&](const char* name) {
    const c10::IValue* value = value_of(name);
    return value && ((value->isDouble() && value->toDouble() == 0) || (value->isBool() && !value->toBool()));
  };
  // A `p` alone may be the chance to draw a one.
  const bool drops = value_of("train") != nullptr;
  return !(is_zero("dropout_p") || is_zero("dropout") || is_zero("train") || is_zero("training") ||
           (drops && is_zero("p")));
}

// operator_target(overloads, *args, **kwargs) -> (capsule, which of the overloads, whether the call draws)
// `overloads`: of each its name and that of its `out` variant, which may be empty.  The target takes the tensors in the
// order of the call.
inline PyObject* operator_target(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  HANDLE_TH_ERRORS
  const auto names = pybind11::handle(args[0]).cast<std::vector<std::pair<std::string, std::string>>>();
  const PythonCall call{args + 1, static_cast<size_t>(count) - 1, keywords};
  std::vector<Overload> overloads;
  for (const auto& [name, out] : names) overloads.emplace_back(find_operator(name));
  const Tensors slots = tensors_of(call);
  std::vector<Source> sources;
  bool random = false;
  const Overload& meant = resolve(overloads, call, [&](const Overload& overload, bool numbers_too, std::string* why) {
    Stack values;
    SlotArguments arguments(overload, slots, numbers_too);
    if (!bind_call(overload, call, arguments, values, why)) return false;
    random = draws(overload.handle, values);
    sources = std::move(arguments).sources(std::move(values));
    return true;
  });
  const auto index = static_cast<size_t>(&meant - overloads.data());
  std::optional<c10::OperatorHandle> out;
  if (!names[index].second.empty()) out = find_operator(names[index].second);
  std::vector<at::ScalarType> types;
  for (const at::Tensor& slot : slots) types.push_back(slot.scalar_type());
  std::shared_ptr<const TensorFunction> function =
      std::make_shared<Operator>(meant, std::move(out), std::move(sources), std::move(types));
  if (random) function = std::make_shared<Drawn>(std::move(function));
  THPObjectPtr capsule(capsule_of(std::move(function)));
  if (!capsule) return nullptr;
  return Py_BuildValue("NnO", capsule.release(), static_cast<Py_ssize_t>(index), random ? Py_True : Py_False);
  END_HANDLE_TH_ERRORS
}

inline std::vector<at::ScalarType> types_in(PyObject* codes) {
  std::vector<at::ScalarType> types;
  for (const pybind11::handle code : pybind11::reinterpret_borrow<pybind11::tuple>(codes))
    types.push_back(scalar_type(code.cast<int64_t>()));
  return types;
}

// vjp_target(target: capsule, known, gradients) -> capsule
// `known`: the element types of its outputs, empty if they are not to be given; `gradients`: those of their gradients.
inline PyObject* vjp_target(PyObject*, PyObject* args) {
  HANDLE_TH_ERRORS
  PyObject *capsule = nullptr, *known = nullptr, *gradients = nullptr;
  if (!PyArg_ParseTuple(args, "OO!O!", &capsule, &PyTuple_Type, &known, &PyTuple_Type, &gradients)) return nullptr;
  std::shared_ptr<const TensorFunction> function = target_in(capsule).function();
  if (const auto* drawn = dynamic_cast<const Drawn*>(function.get())) function = std::make_shared<Redrawn>(*drawn);
  return capsule_of(std::make_shared<Vjp>(std::move(function), types_in(known), types_in(gradients)));
  END_HANDLE_TH_ERRORS
}

}  // namespace opbridge::torch_adapter

#endif

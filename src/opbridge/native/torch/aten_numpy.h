// Any operator registered with PyTorch as a function of NumPy arrays, without a copy in or out.
#ifndef OPBRIDGE_NATIVE_TORCH_ATEN_NUMPY_H
#define OPBRIDGE_NATIVE_TORCH_ATEN_NUMPY_H

#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/tensor_numpy.h>

#include "../gil.h"
#include "../masked_array.h"
#include "aten_binding.h"

namespace opbridge::torch_adapter {

// An array among the arguments, and the tensor PyTorch sees in its place.
struct Given {
  PyObject* array;
  at::Tensor tensor;
  c10::DimVector sizes, strides;  // which an operator such as `squeeze_` changes in the tensor, and not in the array
  bool copied;                    // the tensor has memory of its own

  bool is(const at::Tensor& t) const { return t.is_same(tensor) && t.sizes() == sizes && t.strides() == strides; }
};

// Arrays bound to an overload's arguments; it remembers which tensor was whose array, so that results can be arrays
// again.
class ArrayArguments {
 public:
  ArrayArguments(const Overload& overload, bool numbers_too) : overload_(overload), numbers_too_(numbers_too) {}

  std::optional<c10::IValue> operator()(size_t index, PyObject* object, std::string* why) {
    const c10::Argument& argument = overload_.schema().arguments()[index];
    const c10::Type* type = argument.type().get();
    if (type->kind() == c10::TypeKind::OptionalType) {
      if (object == Py_None) return c10::IValue();
      type = type->castRaw<c10::OptionalType>()->getElementType().get();
    }
    if (type->kind() == c10::TypeKind::TensorType) {
      if (auto tensor = one(argument, object, why)) return c10::IValue(std::move(*tensor));
      return std::nullopt;
    }
    if (!PyList_Check(object) && !PyTuple_Check(object)) return refused(argument, object, why);
    if (PyList_Check(object)) {
      // Its items are looked at until the call returns, and Python code that runs meanwhile may take them out.
      kept_.emplace_back(PyList_AsTuple(object));
      if (!(object = kept_.back().get())) Overload::throw_python();
    }
    const bool gaps = type->castRaw<c10::ListType>()->getElementType()->kind() == c10::TypeKind::OptionalType;
    return gaps ? list<std::optional<at::Tensor>>(argument, object, why) : list<at::Tensor>(argument, object, why);
  }

  std::vector<Given> given;

 private:
  std::optional<at::Tensor> one(const c10::Argument& argument, PyObject* object, std::string* why) {
    const PythonSide& python = PythonSide::get();
    if (PyObject_TypeCheck(object, python.ndarray)) return array(argument, object);
    if (numbers_too_ && PyObject_TypeCheck(object, python.number)) return converted(object);
    if (numbers_too_ && is_number(object)) return number_as_tensor(object);
    refused(argument, object, why);
    return std::nullopt;
  }

  at::Tensor array(const c10::Argument& argument, PyObject* object) {
    if (reinterpret_cast<PyObject*>(Py_TYPE(object)) != reinterpret_cast<PyObject*>(PythonSide::get().ndarray) &&
        is_masked_array(object))
      throw Failure(call_error, overload_.name + ": argument '" + argument.name() + "' is a masked array; " + kUnmask);
    const bool written = argument.alias_info() && argument.alias_info()->isWrite();
    if (written && !is_writable(object))
      throw Failure(call_error, overload_.name + ": argument '" + argument.name() +
                                    "' is written to, and the array is read-only; pass a copy of it");
    for (const Given& known : given)
      if (known.array == object) return known.tensor;
    at::Tensor tensor;
    try {
      tensor = torch::utils::tensor_from_numpy(object, false);
    } catch (const std::exception&) {
      // Strides that PyTorch has not, another byte order, an element type of ml_dtypes.
    }
    const bool copied = !tensor.defined();
    if (copied) tensor = converted(object);
    given.push_back({object, tensor, c10::DimVector(tensor.sizes()), c10::DimVector(tensor.strides()), copied});
    return tensor;
  }

  at::Tensor converted(PyObject* object) {
    THPObjectPtr tensor(PyObject_CallOneArg(PythonSide::get().tensor, object));
    if (!tensor) Overload::throw_python();
    return THPVariable_Unpack(tensor.get());
  }

  static bool is_writable(PyObject* array) {
    THPObjectPtr answer(PyObject_CallOneArg(PythonSide::get().is_writable, array));
    if (!answer) Overload::throw_python();
    return answer.get() == Py_True;
  }

  template <class Item>
  std::optional<c10::IValue> list(const c10::Argument& argument, PyObject* object, std::string* why) {
    c10::List<Item> items;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
      PyObject* item = PyTuple_GET_ITEM(object, i);
      if constexpr (!std::is_same_v<Item, at::Tensor>) {
        if (item == Py_None) {
          items.push_back(std::nullopt);
          continue;
        }
      }
      auto tensor = one(argument, item, why);
      if (!tensor) return std::nullopt;
      items.push_back(std::move(*tensor));
    }
    return c10::IValue(std::move(items));
  }

  static std::optional<c10::IValue> refused(const c10::Argument& argument, PyObject* object, std::string* why) {
    if (why) {
      const bool stranger = THPVariable_Check(object);
      *why = "argument '" + argument.name() + "': expected a numpy.ndarray for " + argument.type()->str() + ", got " +
             (stranger ? "torch.Tensor" : Py_TYPE(object)->tp_name);
      if (stranger) *why += "; all tensors of a call come from one framework, and x.numpy() makes it an array";
    }
    return std::nullopt;
  }

  const Overload& overload_;
  const bool numbers_too_;
  std::vector<THPObjectPtr> kept_;
};

// What a call returns, as NumPy has it.
class ArrayResults {
 public:
  explicit ArrayResults(const std::vector<Given>& given) : given_(given) {}

  PyObject* of(Stack& stack) const {
    if (stack.size() == 1) return value(std::move(stack[0]));
    THPObjectPtr tuple(PyTuple_New(static_cast<Py_ssize_t>(stack.size())));
    if (!tuple) return nullptr;
    for (size_t i = 0; i < stack.size(); ++i) {
      PyObject* item = value(std::move(stack[i]));
      if (!item) return nullptr;
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), item);
    }
    return stack.empty() ? Py_NewRef(Py_None) : tuple.release();
  }

  // The new values of arguments whose memory PyTorch could not address.
  void write_back(const Overload& overload) const {
    for (const Given& item : given_) {
      if (!item.copied || !overload.schema().is_mutable()) continue;
      THPObjectPtr tensor(THPVariable_Wrap(item.tensor));
      if (!tensor) Overload::throw_python();
      THPObjectPtr done(PyObject_CallFunctionObjArgs(PythonSide::get().write_back, tensor.get(), item.array, nullptr));
      if (!done) Overload::throw_python();
    }
  }

 private:
  PyObject* value(c10::IValue&& value) const {
    if (value.isTensor()) return array(value.toTensor());
    if (!value.isTensorList()) return torch::jit::toPyObject(std::move(value)).release().ptr();
    const auto tensors = value.toTensorVector();
    THPObjectPtr list(PyList_New(static_cast<Py_ssize_t>(tensors.size())));
    if (!list) return nullptr;
    for (size_t i = 0; i < tensors.size(); ++i) {
      PyObject* item = array(tensors[i]);
      if (!item) return nullptr;
      PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), item);
    }
    return list.release();
  }

  PyObject* array(const at::Tensor& tensor) const {
    if (!tensor.defined()) Py_RETURN_NONE;
    const Given* source = nullptr;
    for (const Given& item : given_) {
      if (!tensor.has_storage() || !item.tensor.has_storage() || !tensor.is_alias_of(item.tensor)) continue;
      source = &item;
      // In-place operators return what they were given, unless its form changed too, as in `squeeze_`.
      if (item.is(tensor)) return Py_NewRef(item.array);
    }
    PyObject* made = simple(tensor) ? torch::utils::tensor_to_numpy(tensor) : general(tensor);
    return made && source && !source->copied ? as_writable_as(source->array, made) : made;
  }

  static bool simple(const at::Tensor& t) {
    return t.is_cpu() && t.layout() == at::kStrided && !t.is_conj() && !t.is_neg() &&
           t.scalar_type() != at::kBFloat16 && dtype_code(t.scalar_type()) >= 0;
  }

  static PyObject* general(const at::Tensor& tensor) {
    THPObjectPtr wrapped(THPVariable_Wrap(tensor));
    return wrapped ? PyObject_CallOneArg(PythonSide::get().array, wrapped.get()) : nullptr;
  }

  static PyObject* as_writable_as(PyObject* source, PyObject* made) {
    THPObjectPtr owned(made);
    THPObjectPtr writable(PyObject_CallOneArg(PythonSide::get().is_writable, source));
    if (!writable) return nullptr;
    if (writable.get() == Py_True) return Py_NewRef(made);
    return PyObject_CallOneArg(PythonSide::get().protect, made);
  }

  const std::vector<Given>& given_;
};

}  // namespace opbridge::torch_adapter

#endif

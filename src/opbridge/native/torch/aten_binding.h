// Binds the arguments of a Python call to one overload of an operator registered with PyTorch.
#ifndef OPBRIDGE_NATIVE_TORCH_ATEN_BINDING_H
#define OPBRIDGE_NATIVE_TORCH_ATEN_BINDING_H

#include <ATen/ScalarOps.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>

#include <optional>
#include <string>
#include <vector>

#include "entry.h"

// PyTorch's own conversions.  Their header takes as long to compile as the rest of the adapter.
namespace torch::jit {
c10::IValue toIValue(pybind11::handle object, const c10::TypePtr& type, std::optional<int32_t> length);
pybind11::object toPyObject(c10::IValue value);
}  // namespace torch::jit

namespace opbridge::torch_adapter {

// What Python has to say where PyTorch's own conversions end: functions of opbridge.frameworks.aten.values.
struct PythonSide {
  PyTypeObject* ndarray;
  PyTypeObject* number;   // numpy.generic
  PyObject* attribute;    // (type: str, value) -> value that PyTorch takes
  PyObject* tensor;       // (array) -> tensor, a copy of what PyTorch cannot address
  PyObject* array;        // (tensor) -> array, for what PyTorch does not turn into one
  PyObject* write_back;   // (tensor, array): the tensor's values into the array
  PyObject* is_writable;  // (array) -> bool
  PyObject* protect;      // (array) -> array that cannot be written to
  PyObject* suggest;      // (word, known) -> str

  static const PythonSide& get() {
    // No static of its own initialization: importing lets go of Python's lock, which the next thread would then wait
    // for the first one with.
    static const PythonSide* side = nullptr;
    if (!side) side = new PythonSide(load());
    return *side;
  }

 private:
  static PythonSide load() {
    const auto module = pybind11::module_::import("opbridge.frameworks.aten.values");
    const auto member = [](const pybind11::object& from, const char* name) {
      return from.attr(name).cast<pybind11::object>().release().ptr();
    };
    return {reinterpret_cast<PyTypeObject*>(member(module, "Array")),
            reinterpret_cast<PyTypeObject*>(member(module, "Number")),
            member(module, "as_attribute"),
            member(module, "as_tensor"),
            member(module, "as_array"),
            member(module, "write_back"),
            member(module, "is_writable"),
            member(module, "protect"),
            member(module, "suggest")};
  }
};

// One of an operator's schemas, with its names interned: they are compared by identity.
struct Overload {
  c10::OperatorHandle handle;
  std::string name;  // with namespace and overload
  std::vector<PyObject*> names;
  size_t positional = 0;

  explicit Overload(c10::OperatorHandle found) : handle(std::move(found)) {
    name = handle.schema().name();
    if (!handle.schema().overload_name().empty()) name += "." + handle.schema().overload_name();
    for (const c10::Argument& argument : handle.schema().arguments()) {
      names.push_back(PyUnicode_InternFromString(argument.name().c_str()));
      if (!names.back()) throw_python();
      positional += !argument.kwarg_only();
    }
  }

  const c10::FunctionSchema& schema() const { return handle.schema(); }

  [[noreturn]] static void throw_python() {
    python_error error;
    error.persist();
    throw std::move(error);
  }
};

// Finds an operator by namespace, name and overload: "aten::add.Tensor".
inline c10::OperatorHandle find_operator(const std::string& name) {
  const size_t dot = name.find('.', name.find("::"));
  const std::string overload = dot == std::string::npos ? "" : name.substr(dot + 1);
  return c10::Dispatcher::singleton().findSchemaOrThrow(name.substr(0, dot).c_str(), overload.c_str());
}

inline bool is_integer(PyObject* object) { return PyLong_CheckExact(object); }

// An integer that fits; anything else is left to the general way.
inline std::optional<c10::IValue> small_integer(PyObject* object) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  return overflow ? std::nullopt : std::optional<c10::IValue>(static_cast<int64_t>(value));
}

inline std::optional<c10::IValue> integers(PyObject* object, std::optional<int32_t> length) {
  std::vector<int64_t> values;
  if (is_integer(object) && length) {
    const auto value = small_integer(object);
    if (!value) return std::nullopt;
    return c10::IValue(std::vector<int64_t>(*length, value->toInt()));
  }
  if (!PyList_CheckExact(object) && !PyTuple_CheckExact(object)) return std::nullopt;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(object);
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(object, i);
    const auto value = is_integer(item) ? small_integer(item) : std::nullopt;
    if (!value) return std::nullopt;
    values.push_back(value->toInt());
  }
  return c10::IValue(std::move(values));
}

// What most attributes are, without asking anybody.
inline std::optional<c10::IValue> plain_attribute(const c10::Argument& argument, PyObject* object) {
  const c10::Type* type = argument.real_type().get();
  if (type->kind() == c10::TypeKind::OptionalType) {
    if (object == Py_None) return c10::IValue();
    type = type->castRaw<c10::OptionalType>()->getElementType().get();
  }
  switch (type->kind()) {
    case c10::TypeKind::FloatType:
      if (PyFloat_CheckExact(object)) return c10::IValue(PyFloat_AS_DOUBLE(object));
      if (is_integer(object)) return c10::IValue(PyLong_AsDouble(object));
      break;
    case c10::TypeKind::NumberType:
      if (PyFloat_CheckExact(object)) return c10::IValue(PyFloat_AS_DOUBLE(object));
      if (PyBool_Check(object)) return c10::IValue(object == Py_True);
      if (is_integer(object)) return small_integer(object);
      break;
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      if (is_integer(object)) return small_integer(object);
      break;
    case c10::TypeKind::BoolType:
      if (PyBool_Check(object)) return c10::IValue(object == Py_True);
      break;
    case c10::TypeKind::ListType: {
      const auto kind = type->castRaw<c10::ListType>()->getElementType()->kind();
      if (kind == c10::TypeKind::IntType || kind == c10::TypeKind::SymIntType) return integers(object, argument.N());
      break;
    }
    default:
      break;
  }
  return std::nullopt;
}

// Converts an argument that is not a tensor.  Returns nothing if the value has another type, and explains it in `why`.
inline std::optional<c10::IValue> attribute(const c10::Argument& argument, PyObject* object, std::string* why) {
  if (auto value = plain_attribute(argument, object)) return value;
  PyErr_Clear();  // of an int that is too large for a float
  const std::string type = argument.real_type()->str();
  try {
    const auto prepared = pybind11::reinterpret_steal<pybind11::object>(
        PyObject_CallFunction(PythonSide::get().attribute, "sO", type.c_str(), object));
    if (!prepared) throw pybind11::error_already_set();
    return torch::jit::toIValue(prepared, argument.real_type(), argument.N());
  } catch (const pybind11::cast_error&) {
  } catch (const c10::Error&) {
  } catch (const pybind11::error_already_set& error) {
    if (!error.matches(PyExc_TypeError) && !error.matches(PyExc_ValueError) && !error.matches(PyExc_OverflowError) &&
        !error.matches(PyExc_RuntimeError))
      throw;
  }
  if (why) {
    const auto shown = pybind11::repr(object).cast<std::string>();
    *why = "argument '" + argument.name() + "': expected " + type + ", got " + Py_TYPE(object)->tp_name + " " +
           shown.substr(0, 60);
  }
  return std::nullopt;
}

// The arguments of a call as CPython hands them over.
struct PythonCall {
  PyObject* const* args;
  size_t count;
  PyObject* keywords;

  size_t keyword_count() const { return keywords ? static_cast<size_t>(PyTuple_GET_SIZE(keywords)) : 0; }
  PyObject* keyword(size_t i) const { return PyTuple_GET_ITEM(keywords, static_cast<Py_ssize_t>(i)); }
};

inline bool takes_tensors(const c10::Argument& argument) {
  const c10::Type* type = argument.type().get();
  while (type->kind() == c10::TypeKind::OptionalType || type->kind() == c10::TypeKind::ListType)
    type = type->containedType(0).get();
  return type->kind() == c10::TypeKind::TensorType;
}

inline bool same_name(PyObject* a, PyObject* b) { return a == b || PyUnicode_Compare(a, b) == 0; }

inline std::string text(PyObject* unicode) {
  const char* bytes = PyUnicode_AsUTF8(unicode);
  if (!bytes) Overload::throw_python();
  return bytes;
}

// Arranges a call in schema order, converting tensors with `tensors(argument, object, why)`.  Returns false if it does
// not fit the overload, and explains it in `why`.
template <class Tensors>
bool bind_call(const Overload& overload, const PythonCall& call, Tensors&& tensors, Stack& stack, std::string* why) {
  const std::vector<c10::Argument>& arguments = overload.schema().arguments();
  if (call.count > overload.positional) {
    if (why)
      *why = "expected at most " + detail::counted(overload.positional, "positional argument") + ", got " +
             std::to_string(call.count);
    return false;
  }
  size_t used = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    PyObject* object = i < call.count ? call.args[i] : nullptr;
    for (size_t k = 0; k < call.keyword_count() && used < call.keyword_count(); ++k) {
      if (!same_name(call.keyword(k), overload.names[i])) continue;
      if (object) {
        if (why) *why = "argument '" + arguments[i].name() + "' is given twice";
        return false;
      }
      object = call.args[call.count + k];
      ++used;
      break;
    }
    std::optional<c10::IValue> value;
    if (object) {
      value = takes_tensors(arguments[i]) ? tensors(i, object, why) : attribute(arguments[i], object, why);
    } else if (arguments[i].default_value()) {
      value = *arguments[i].default_value();
    } else if (why) {
      *why = "argument '" + arguments[i].name() + "' is missing";
    }
    if (!value) return false;
    stack.push_back(std::move(*value));
  }
  if (used == call.keyword_count()) return true;
  if (why) {
    for (size_t k = 0; k < call.keyword_count(); ++k) {
      bool known = false;
      for (PyObject* name : overload.names) known |= same_name(name, call.keyword(k));
      if (!known) *why = "there is no argument '" + text(call.keyword(k)) + "'";
    }
  }
  return false;
}

inline bool wants_out(const Overload& overload) {
  const auto& arguments = overload.schema().arguments();
  return !arguments.empty() && arguments.back().is_out();
}

// For a keyword that an overload does not have.
inline std::string suggestion(const Overload& overload, const PythonCall& call) {
  pybind11::list known;
  for (PyObject* name : overload.names) known.append(pybind11::handle(name));
  for (size_t k = 0; k < call.keyword_count(); ++k) {
    bool unknown = true;
    for (PyObject* name : overload.names) unknown &= !same_name(name, call.keyword(k));
    if (!unknown) continue;
    const auto hint = pybind11::handle(PythonSide::get().suggest)(pybind11::handle(call.keyword(k)), known);
    return hint.cast<std::string>().empty() ? "" : "; " + hint.cast<std::string>();
  }
  return {};
}

// Why no overload takes a call.
template <class Fits>
std::string explanation(const std::vector<Overload>& overloads, const PythonCall& call, Fits&& fits) {
  std::string said;
  for (const Overload& overload : overloads) {
    std::string why;
    fits(overload, true, &why);
    if (wants_out(overload) && why.find("is missing") != std::string::npos) continue;
    said += "\n  " + c10::str(overload.schema()) + "\n    " + why + suggestion(overload, call);
  }
  return overloads.front().name + ": the arguments do not fit" + said;
}

// Returns the first overload that accepts a call.  A number becomes a tensor only if no overload accepts it as a
// number. `fits(overload, numbers_too, why)` keeps the converted arguments.
template <class Fits>
const Overload& resolve(const std::vector<Overload>& overloads, const PythonCall& call, Fits&& fits) {
  for (const bool numbers_too : {false, true})
    for (const Overload& overload : overloads)
      if (fits(overload, numbers_too, nullptr)) return overload;
  throw Failure(call_error, explanation(overloads, call, fits));
}

// A number that does not decide the result's element type.
inline at::Tensor number_as_tensor(PyObject* number) {
  at::Tensor tensor = at::scalar_to_tensor(torch::jit::toIValue(number, c10::NumberType::get(), {}).toScalar());
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

inline bool is_number(PyObject* object) {
  return PyFloat_Check(object) || PyLong_Check(object) || PyComplex_Check(object);
}

}  // namespace opbridge::torch_adapter

#endif

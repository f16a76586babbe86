// Implements `op(x, y)` for PyTorch tensors.  Plain arguments go directly to the operator.  Everything unusual goes
// through torch.ops, which implements all of PyTorch's calling rules and errors.
#ifndef OPBRIDGE_NATIVE_TORCH_PYTHON_H
#define OPBRIDGE_NATIVE_TORCH_PYTHON_H

#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/python_variable.h>

#include <optional>

#include "../gil.h"
#include "autograd.h"
#include "kernel.h"

namespace opbridge::torch_adapter {

// What `op.torch` calls without the dispatcher; it falls back to `general` for whatever is not plain.
struct CallableObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  Entry* entry;
  int64_t generation;   // of the entry, when `names` was made
  PyObject* general;    // torch.ops.ns.name.overload
  PyObject* translate;  // (exception) -> exception, for what PyTorch itself raises
  PyObject* names;      // tuple of interned argument names
  PyObject* weakrefs;
};

// Unusual: not wrong, but for PyTorch's own binding to read.
enum class Parsed { Yes, Unusual };

inline Parsed parse_list(const ArgPlan& arg, PyObject* object, c10::IValue& out) {
  if (!PyList_CheckExact(object) && !PyTuple_CheckExact(object)) return Parsed::Unusual;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(object);
  PyObject** items = PySequence_Fast_ITEMS(object);
  if (arg.kind == Kind::Int) {
    std::vector<int64_t> values;
    for (Py_ssize_t i = 0; i < n; ++i) {
      if (!PyLong_CheckExact(items[i])) return Parsed::Unusual;
      int overflow = 0;
      values.push_back(PyLong_AsLongLongAndOverflow(items[i], &overflow));
      if (overflow) return Parsed::Unusual;
    }
    out = std::move(values);
    return Parsed::Yes;
  }
  if (arg.kind == Kind::Float) {
    std::vector<double> values;
    for (Py_ssize_t i = 0; i < n; ++i) {
      if (!PyFloat_CheckExact(items[i])) return Parsed::Unusual;
      values.push_back(PyFloat_AS_DOUBLE(items[i]));
    }
    out = std::move(values);
    return Parsed::Yes;
  }
  if (arg.kind == Kind::Tensor && !arg.has(kElementOptional)) {
    std::vector<at::Tensor> values;
    for (Py_ssize_t i = 0; i < n; ++i) {
      if (!THPVariable_CheckExact(items[i])) return Parsed::Unusual;
      values.push_back(THPVariable_Unpack(items[i]));
    }
    out = std::move(values);
    return Parsed::Yes;
  }
  return Parsed::Unusual;
}

inline Parsed parse(const ArgPlan& arg, PyObject* object, c10::IValue& out) {
  if (object == Py_None && arg.has(kOptional)) {
    out = c10::IValue();
    return Parsed::Yes;
  }
  if (arg.has(kList)) return parse_list(arg, object, out);
  switch (arg.kind) {
    case Kind::Tensor:
      if (!THPVariable_CheckExact(object)) return Parsed::Unusual;
      out = THPVariable_Unpack(object);
      return Parsed::Yes;
    case Kind::Float:
      if (!PyFloat_CheckExact(object)) return Parsed::Unusual;
      out = PyFloat_AS_DOUBLE(object);
      return Parsed::Yes;
    case Kind::Int: {
      if (!PyLong_CheckExact(object)) return Parsed::Unusual;
      int overflow = 0;
      out = static_cast<int64_t>(PyLong_AsLongLongAndOverflow(object, &overflow));
      return overflow ? Parsed::Unusual : Parsed::Yes;
    }
    case Kind::Bool:
      if (object != Py_True && object != Py_False) return Parsed::Unusual;
      out = object == Py_True;
      return Parsed::Yes;
    default:
      return Parsed::Unusual;
  }
}

// Lays Python arguments out in schema order.
inline Parsed parse_call(const CallableObject* self, const Definition& definition, PyObject* const* args, size_t n,
                         PyObject* keywords, Values& values) {
  const std::vector<ArgPlan>& plan = definition.plan.args;
  if (n > plan.size()) return Parsed::Unusual;
  values.resize(plan.size());
  const Py_ssize_t n_keywords = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  Py_ssize_t used = 0;
  for (size_t i = 0; i < plan.size(); ++i) {
    PyObject* object = nullptr;
    if (i < n) {
      if (plan[i].has(kKeywordOnly)) return Parsed::Unusual;
      object = args[i];
    } else {
      for (Py_ssize_t k = 0; k < n_keywords; ++k)
        if (PyTuple_GET_ITEM(keywords, k) == PyTuple_GET_ITEM(self->names, i)) {
          object = args[n + static_cast<size_t>(k)];
          ++used;
          break;
        }
    }
    if (object) {
      if (parse(plan[i], object, values[i]) != Parsed::Yes) return Parsed::Unusual;
    } else {
      const auto& fallback = self->entry->handle->schema().arguments()[i].default_value();
      if (!fallback) return Parsed::Unusual;
      values[i] = *fallback;
    }
  }
  return used == n_keywords ? Parsed::Yes : Parsed::Unusual;
}

// The device whose kernel, and autograd's, are all that could want to see this call.
inline std::optional<Device> plain_device(const Definition& definition, const Values& values) {
  c10::DispatchKeySet keys;
  for (size_t i = 0; i < values.size(); ++i)
    if (definition.plan.args[i].is_tensor())
      each_tensor(values[i], [&](const at::Tensor& t) { keys = keys | t.key_set(); });
  const auto local = c10::impl::tls_local_dispatch_key_set();
  keys = (keys | local.included_) - local.excluded_;
  // BackendSelect is set on every thread, for operators that have a kernel there.
  constexpr c10::DispatchKeySet on_cpu({c10::DispatchKey::CPU, c10::DispatchKey::ADInplaceOrView,
                                        c10::DispatchKey::AutogradCPU, c10::DispatchKey::BackendSelect});
  constexpr c10::DispatchKeySet on_cuda({c10::DispatchKey::CUDA, c10::DispatchKey::ADInplaceOrView,
                                         c10::DispatchKey::AutogradCUDA, c10::DispatchKey::BackendSelect});
  constexpr c10::DispatchKeySet on_npu({c10::DispatchKey::PrivateUse1, c10::DispatchKey::ADInplaceOrView,
                                        c10::DispatchKey::AutogradPrivateUse1, c10::DispatchKey::BackendSelect});
  if (at::hasCallbacks()) return std::nullopt;
  if (keys.has(c10::DispatchKey::CPU) && on_cpu.isSupersetOf(keys)) return kCpu;
  if (keys.has(c10::DispatchKey::CUDA) && on_cuda.isSupersetOf(keys)) return kCuda;
  if (keys.has(c10::DispatchKey::PrivateUse1) && on_npu.isSupersetOf(keys)) return kNpu;
  return std::nullopt;
}

// Whether the caller stands below autograd already, as in inference mode and inside other operators' kernels.
inline bool below_autograd() {
  return c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::AutogradFunctionality);
}

inline PyObject* wrap_results(Results& results) {
  if (results.empty()) Py_RETURN_NONE;
  if (results.size() == 1) return THPVariable_Wrap(std::move(results[0]).toTensor());
  THPObjectPtr tuple(PyTuple_New(static_cast<Py_ssize_t>(results.size())));
  if (!tuple) return nullptr;
  for (size_t i = 0; i < results.size(); ++i) {
    PyObject* item = THPVariable_Wrap(std::move(results[i]).toTensor());
    if (!item) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), item);
  }
  return tuple.release();
}

inline PyObject* call_unguarded(const CallableObject* self, PyObject* const* args, size_t nargsf, PyObject* keywords) {
  HANDLE_TH_ERRORS
  const Definition& definition = self->entry->now();
  if (self->generation != self->entry->generation)
    throw Failure(call_error, definition.full_name +
                                  " was defined again with another schema since this object was made: " +
                                  definition.plan.schema + "; take it from the library again");
  Values values;
  if (at::impl::torch_function_mode_enabled() ||
      parse_call(self, definition, args, static_cast<size_t>(PyVectorcall_NARGS(nargsf)), keywords, values) !=
          Parsed::Yes)
    return PyObject_Vectorcall(self->general, args, nargsf, keywords);

  Results results;
  {
    const WithoutGil no_gil;
    const std::optional<Device> device = plain_device(definition, values);
    // An operator that writes to an argument also counts versions: the dispatcher's keys see to that.
    if (definition.mutates || definition.forward || !device) {
      Stack stack(std::make_move_iterator(values.begin()), std::make_move_iterator(values.end()));
      self->entry->handle->callBoxed(stack);
      for (c10::IValue& result : stack) results.push_back(std::move(result));
    } else {
      const Demand demand = below_autograd() ? Demand() : Demand(definition, values.data());
      if (!demand.gradient && !demand.tangent) {
        run_kernel(definition, *device, values.data(), results);
      } else {
        const c10::IValue* given = values.data();
        differentiate(definition, demand, std::vector<c10::IValue>(values.begin(), values.end()), results,
                      [&](Results& out) {
                        const at::AutoDispatchBelowAutograd below;
                        run_kernel(definition, *device, given, out);
                      });
      }
    }
  }
  return wrap_results(results);
  END_HANDLE_TH_ERRORS
}

inline PyObject* call(PyObject* object, PyObject* const* args, size_t nargsf, PyObject* keywords) {
  const auto* self = reinterpret_cast<CallableObject*>(object);
  PyObject* result = call_unguarded(self, args, nargsf, keywords);
  return result ? result : raise_translated(self->translate);
}

}  // namespace opbridge::torch_adapter

#endif

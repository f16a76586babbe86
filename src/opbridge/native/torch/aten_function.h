// Implements `ob.aten(name).numpy`: resolves overloads by the types of a call's arguments, and caches the choice.
#ifndef OPBRIDGE_NATIVE_TORCH_ATEN_FUNCTION_H
#define OPBRIDGE_NATIVE_TORCH_ATEN_FUNCTION_H

#include <structmember.h>

#include <array>

#include "aten_numpy.h"

namespace opbridge::torch_adapter {

// The types that decided which overload a call meant.  Types that came and went since do no harm: what is remembered is
// only tried first.
struct Remembered {
  c10::SmallVector<const void*, 8> types;
  c10::SmallVector<PyObject*, 4> keywords;  // interned, or kept alive by the operator's names
  const Overload* overload = nullptr;
};

// What `ob.aten(...)` calls for tensors of PyTorch's; under Python's lock.
struct FunctionObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  std::vector<Overload>* overloads;
  std::array<Remembered, 8>* remembered;
  size_t next;          // of `remembered`, to be replaced
  PyObject* translate;  // (exception) -> exception, for what PyTorch itself raises
  PyObject* weakrefs;
};

inline c10::SmallVector<const void*, 8> types_of(const PythonCall& call) {
  c10::SmallVector<const void*, 8> types;
  for (size_t i = 0; i < call.count + call.keyword_count(); ++i) {
    PyObject* object = call.args[i];
    types.push_back(Py_TYPE(object));
    if ((PyList_CheckExact(object) || PyTuple_CheckExact(object)) && PySequence_Fast_GET_SIZE(object))
      types.push_back(Py_TYPE(PySequence_Fast_GET_ITEM(object, 0)));
  }
  return types;
}

// One call: its overload is known, remembered from a call with the same types, or found by trying each.
class FunctionCall {
 public:
  FunctionCall(FunctionObject* self, const PythonCall& call) : self_(self), call_(call) {}

  PyObject* run() {
    const std::vector<Overload>& overloads = *self_->overloads;
    if (overloads.size() == 1 && bind(overloads[0], true, nullptr)) return call(overloads[0]);
    const auto types = types_of(call_);
    if (const Overload* known = recall(types); known && bind(*known, true, nullptr)) return call(*known);
    const Overload& meant =
        resolve(overloads, call_, [this](const Overload& overload, bool numbers_too, std::string* why) {
          return bind(overload, numbers_too, why);
        });
    remember(types, meant);
    return call(meant);
  }

 private:
  bool bind(const Overload& overload, bool numbers_too, std::string* why) {
    stack_.clear();
    ArrayArguments arrays(overload, numbers_too);
    const bool fits = bind_call(overload, call_, arrays, stack_, why);
    given_ = std::move(arrays.given);
    return fits;
  }

  PyObject* call(const Overload& overload) {
    {
      const WithoutGil no_gil;
      const c10::InferenceMode no_gradients;
      overload.handle.callBoxed(stack_);
    }
    const ArrayResults results(given_);
    results.write_back(overload);
    return results.of(stack_);
  }

  const Overload* recall(const c10::SmallVector<const void*, 8>& types) const {
    for (const Remembered& entry : *self_->remembered) {
      if (!entry.overload || entry.types != types || entry.keywords.size() != call_.keyword_count()) continue;
      bool same = true;
      for (size_t k = 0; k < entry.keywords.size(); ++k) same &= entry.keywords[k] == call_.keyword(k);
      if (same) return entry.overload;
    }
    return nullptr;
  }

  void remember(const c10::SmallVector<const void*, 8>& types, const Overload& overload) {
    Remembered entry{types, {}, &overload};
    for (size_t k = 0; k < call_.keyword_count(); ++k)
      for (PyObject* name : overload.names)
        if (name == call_.keyword(k)) entry.keywords.push_back(name);
    if (entry.keywords.size() != call_.keyword_count()) return;  // spelled at run time: not worth comparing texts
    (*self_->remembered)[self_->next++ % self_->remembered->size()] = std::move(entry);
  }

  FunctionObject* self_;
  const PythonCall call_;
  Stack stack_;
  std::vector<Given> given_;
};

inline PyObject* function_call(PyObject* object, PyObject* const* args, size_t nargsf, PyObject* keywords) {
  auto* self = reinterpret_cast<FunctionObject*>(object);
  PyObject* result = [&]() -> PyObject* {
    HANDLE_TH_ERRORS
    const PythonCall call{args, static_cast<size_t>(PyVectorcall_NARGS(nargsf)), keywords};
    return FunctionCall(self, call).run();
    END_HANDLE_TH_ERRORS
  }();
  return result ? result : raise_translated(self->translate);
}

inline void function_dealloc(PyObject* object) {
  auto* self = reinterpret_cast<FunctionObject*>(object);
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (self->weakrefs) PyObject_ClearWeakRefs(object);
  Py_CLEAR(self->translate);
  delete self->overloads;
  delete self->remembered;
  type->tp_free(object);
  Py_DECREF(type);
}

inline int function_traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(reinterpret_cast<FunctionObject*>(object)->translate);
  return 0;
}

inline PyTypeObject* function_type() {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(FunctionObject, vectorcall), READONLY, nullptr},
      {"__weaklistoffset__", T_PYSSIZET, offsetof(FunctionObject, weakrefs), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(function_dealloc)},
                                {Py_tp_traverse, reinterpret_cast<void*>(function_traverse)},
                                {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_members, members},
                                {0, nullptr}};
  static PyType_Spec spec = {"opbridge.torch_adapter.Function", sizeof(FunctionObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_HAVE_GC, slots};
  static PyObject* const type = PyType_FromSpec(&spec);
  if (!type) Overload::throw_python();
  return reinterpret_cast<PyTypeObject*>(type);
}

// numpy_function(overloads: tuple[str, ...], translate) -> Function
inline PyObject* numpy_function(PyObject*, PyObject* args) {
  HANDLE_TH_ERRORS
  PyObject *names = nullptr, *translate = nullptr;
  if (!PyArg_ParseTuple(args, "O!O", &PyTuple_Type, &names, &translate)) return nullptr;
  auto overloads = std::make_unique<std::vector<Overload>>();
  for (const auto name : pybind11::reinterpret_borrow<pybind11::tuple>(names))
    overloads->emplace_back(find_operator(name.cast<std::string>()));
  auto* self = PyObject_GC_New(FunctionObject, function_type());
  if (!self) return nullptr;
  self->vectorcall = function_call;
  self->overloads = overloads.release();
  self->remembered = new std::array<Remembered, 8>;
  self->next = 0;
  self->translate = Py_NewRef(translate);
  self->weakrefs = nullptr;
  PyObject_GC_Track(reinterpret_cast<PyObject*>(self));
  return reinterpret_cast<PyObject*>(self);
  END_HANDLE_TH_ERRORS
}

}  // namespace opbridge::torch_adapter

#endif

#include "dispatcher.h"

#include <vector>

namespace opbridge {
namespace {

// More types than any process should have; the oldest makes room, so that types created in a loop are not kept forever.
constexpr size_t kMostTypes = 32;

// The type of a first tensor, and what calls with it are forwarded to.
struct Route {
  Ref type;
  Ref target;
};

// What `op(...)` is to Python: it forwards, and asks `resolve` once for each new type.
struct Dispatcher {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* resolve;
  PyObject* explain;
  std::vector<Route>* routes;
};

Dispatcher& dispatcher_of(PyObject* self) { return *reinterpret_cast<Dispatcher*>(self); }

PyObject* route(const std::vector<Route>& routes, PyObject* value) {
  const auto* type = reinterpret_cast<PyObject*>(Py_TYPE(value));
  for (const Route& known : routes)
    if (known.type.get() == type) return known.target.get();
  return nullptr;
}

PyObject* route_into(const std::vector<Route>& routes, PyObject* value) {
  if (PyList_CheckExact(value)) return PyList_GET_SIZE(value) ? route(routes, PyList_GET_ITEM(value, 0)) : nullptr;
  if (PyTuple_CheckExact(value)) return PyTuple_GET_SIZE(value) ? route(routes, PyTuple_GET_ITEM(value, 0)) : nullptr;
  return route(routes, value);
}

// Whether no framework can have made this type.
bool is_plain(PyObject* value) {
  return value == Py_None || PyBool_Check(value) || PyLong_CheckExact(value) || PyFloat_CheckExact(value) ||
         PyUnicode_CheckExact(value);
}

// The same of a list's first item, by which its type is judged.
bool begins_plainly(PyObject* value) {
  if (PyList_CheckExact(value)) return PyList_GET_SIZE(value) == 0 || is_plain(PyList_GET_ITEM(value, 0));
  if (PyTuple_CheckExact(value)) return PyTuple_GET_SIZE(value) == 0 || is_plain(PyTuple_GET_ITEM(value, 0));
  return is_plain(value);
}

Ref positional_of(PyObject* const* args, Py_ssize_t count) {
  Ref positional = Ref::checked(PyTuple_New(count));
  for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(positional.get(), i, Py_NewRef(args[i]));
  return positional;
}

Ref keywords_of(PyObject* const* args, Py_ssize_t count, PyObject* names) {
  Ref keywords = Ref::checked(PyDict_New());
  for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i)
    if (PyDict_SetItem(keywords.get(), PyTuple_GET_ITEM(names, i), args[count + i]) < 0) throw PythonError{};
  return keywords;
}

// The slow way, for types seen the first time: Python code looks at the arguments.
Ref resolve(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  Ref positional = positional_of(args, count), keywords = keywords_of(args, count, names);
  return Ref::checked(
      PyObject_CallFunctionObjArgs(dispatcher_of(self).resolve, positional.get(), keywords.get(), nullptr));
}

// Replaces the error of a failed call by the one that `explain` returns for it, if any.
void explain(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  if (dispatcher_of(self).explain == Py_None || !PyErr_ExceptionMatches(PyExc_Exception)) return;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace) PyException_SetTraceback(value, trace);
  Ref held_type = Ref::take(type), error = Ref::take(value), held_trace = Ref::take(trace);
  Ref positional = positional_of(args, count), keywords = keywords_of(args, count, names);
  Ref better = Ref::checked(PyObject_CallFunctionObjArgs(dispatcher_of(self).explain, positional.get(), keywords.get(),
                                                         error.get(), nullptr));
  if (better.get() == Py_None)
    PyErr_Restore(held_type.release(), error.release(), held_trace.release());
  else
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(better.get())), better.get());
}

PyObject* dispatch(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* names) {
  return guarded([&]() -> PyObject* {
    const std::vector<Route>& routes = *dispatcher_of(self).routes;
    const Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    const Py_ssize_t all = count + (names ? PyTuple_GET_SIZE(names) : 0);
    PyObject* target = nullptr;
    for (Py_ssize_t i = 0; i < all && !target; ++i) {
      target = route_into(routes, args[i]);
      // What is not known yet may be a tensor, and stands before those that are.
      if (!target && !begins_plainly(args[i])) break;
    }
    // Held, since the call may make the dispatcher forget it.
    Ref held = target ? Ref::copy(target) : resolve(self, args, count, names);
    PyObject* result = PyObject_Vectorcall(held.get(), args, nargsf, names);
    if (!result) explain(self, args, count, names);
    return result;
  });
}

PyObject* remember(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    if (count != 2 || !PyType_Check(args[0]) || !PyCallable_Check(args[1])) {
      PyErr_SetString(PyExc_TypeError, "remember(type, callable)");
      throw PythonError{};
    }
    std::vector<Route>& routes = *dispatcher_of(self).routes;
    Route replaced;  // let go of last: that may run Python code
    for (Route& known : routes) {
      if (known.type.get() != args[0]) continue;
      std::swap(replaced, known);
      known = Route{Ref::copy(args[0]), Ref::copy(args[1])};
      return Py_NewRef(Py_None);
    }
    if (routes.size() == kMostTypes) {
      std::swap(replaced, routes.front());
      routes.erase(routes.begin());
    }
    routes.push_back(Route{Ref::copy(args[0]), Ref::copy(args[1])});
    return Py_NewRef(Py_None);
  });
}

PyObject* forget(PyObject* self, PyObject*) {
  std::vector<Route> old;
  old.swap(*dispatcher_of(self).routes);
  return Py_NewRef(Py_None);
}

PyObject* new_dispatcher(PyTypeObject* type, PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyObject* self = type->tp_alloc(type, 0);
    if (!self) throw PythonError{};
    dispatcher_of(self).vectorcall = dispatch;
    dispatcher_of(self).resolve = Py_NewRef(Py_None);
    dispatcher_of(self).explain = Py_NewRef(Py_None);
    dispatcher_of(self).routes = new std::vector<Route>;
#if PY_VERSION_HEX < 0x030C0000
    // Before 3.12 a Python subclass does not inherit vectorcall, and every call would build a tuple and a dict.
    if (type->tp_call == PyVectorcall_Call && !PyType_HasFeature(type, Py_TPFLAGS_HAVE_VECTORCALL)) {
      type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
      PyType_Modified(type);
    }
#endif
    return self;
  });
}

// In __init__ and not in __new__, so that a subclass may have a constructor of its own.
int init(PyObject* self, PyObject* args, PyObject* keywords) {
  static const char* const names[] = {"resolve", "explain", nullptr};
  PyObject *function, *explaining = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|O:Dispatcher", const_cast<char**>(names), &function, &explaining))
    return -1;
  Py_XSETREF(dispatcher_of(self).resolve, Py_NewRef(function));
  Py_XSETREF(dispatcher_of(self).explain, Py_NewRef(explaining));
  return 0;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(dispatcher_of(self).resolve);
  Py_VISIT(dispatcher_of(self).explain);
  if (!dispatcher_of(self).routes) return 0;
  for (const Route& known : *dispatcher_of(self).routes) {
    Py_VISIT(known.type.get());
    Py_VISIT(known.target.get());
  }
  return 0;
}

int clear(PyObject* self) {
  Py_CLEAR(dispatcher_of(self).resolve);
  Py_CLEAR(dispatcher_of(self).explain);
  std::vector<Route> old;
  old.swap(*dispatcher_of(self).routes);
  return 0;
}

void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  Py_CLEAR(dispatcher_of(self).resolve);
  Py_CLEAR(dispatcher_of(self).explain);
  delete dispatcher_of(self).routes;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMethodDef methods[] = {{"remember", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(remember)), METH_FASTCALL,
                          "remember(type, callable): calls whose first tensor is of exactly this type go there."},
                         {"forget", forget, METH_NOARGS, "Forgets every type."},
                         {}};

PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(Dispatcher, vectorcall), READONLY, nullptr}, {}};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(new_dispatcher)},
    {Py_tp_init, reinterpret_cast<void*>(init)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_doc, const_cast<char*>("Dispatcher(resolve, explain=None): forwards a call by the type of its first tensor; "
                                  "resolve(args, kwargs) returns the callable for a new type, explain(args, kwargs, "
                                  "error) the error to raise instead, or None.")},
    {}};

PyType_Spec spec = {"opbridge._core.Dispatcher", sizeof(Dispatcher), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};

// For a subclass whose `__call__` is written for tools that read Python: interpreters enter the dispatcher all the
// same.
PyObject* enable_vectorcall(PyObject*, PyObject* object) {
  auto* type = reinterpret_cast<PyTypeObject*>(object);
  if (!PyType_Check(object) || type->tp_vectorcall_offset != offsetof(Dispatcher, vectorcall)) {
    PyErr_SetString(PyExc_TypeError, "enable_vectorcall takes a subclass of Dispatcher");
    return nullptr;
  }
  type->tp_call = PyVectorcall_Call;
  type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  PyType_Modified(type);
  return Py_NewRef(Py_None);
}

PyMethodDef functions[] = {{"enable_vectorcall", enable_vectorcall, METH_O,
                            "enable_vectorcall(type): calls of its instances go to the dispatcher, not to `__call__`."},
                           {}};

}  // namespace

void add_dispatcher_type(PyObject* module) {
  add_type(module, spec);
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonError{};
}

}  // namespace opbridge

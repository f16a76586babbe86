#include "numpy_op.h"

#include <deque>
#include <memory>
#include <vector>

#include "arguments.h"
#include "kernel.h"
#include "numpy_call.h"

namespace opbridge {
namespace {

// An operator with its kernel, which is found at the first call and then kept with everything that was bound to it.
class Operator {
 public:
  Operator(OpPlan plan, PyObject* find_kernel)
      : plan_(std::move(plan)),
        names_(plan_.full_name, plan_.op.schema, arguments(plan_.op), plan_.positional,
               plan_.new_outputs > 0 ? plan_.out_name.c_str() : nullptr),
        find_kernel_(Ref::copy(find_kernel)) {}

  const NumpyPlan& plan() const { return plan_; }
  PyObject* find_kernel() const { return find_kernel_.get(); }
  void clear() { find_kernel_ = Ref::copy(Py_None); }

  PyObject* call(PyObject* const* args, size_t count, PyObject* keywords) {
    const size_t arity = names_.size();
    if (arity > kUsualArity) {
      std::vector<PyObject*> values(arity);
      return call(args, count, keywords, values.data());
    }
    PyObject* values[kUsualArity];
    return call(args, count, keywords, values);
  }

  void rebind(PyObject* object) {
    bindings_.push_back(bound_kernel(object, plan_.op, plan_.full_name));
    current_ = &bindings_.back();
  }

 private:
  static constexpr size_t kUsualArity = 16;

  PyObject* call(PyObject* const* args, size_t count, PyObject* keywords, PyObject** values) {
    PyObject* out = names_.place(args, count, keywords, values);
    if (!current_) rebind(Ref::checked(PyObject_CallNoArgs(find_kernel_.get())).get());
    return NumpyCall(plan_, *current_).run(values, out == Py_None ? nullptr : out);
  }

  static std::vector<ArgumentNames::Argument> arguments(const OpPlan& op) {
    std::vector<ArgumentNames::Argument> found;
    for (const ArgPlan& arg : op.args) found.push_back({arg.name, !arg.has(kHasDefault)});
    return found;
  }

  const NumpyPlan plan_;
  const ArgumentNames names_;
  Ref find_kernel_;
  // A call that began before a rebind goes on with its kernel, so no binding goes before the operator does.
  std::deque<Binding> bindings_;
  const Binding* current_ = nullptr;
};

// What `op.numpy` is to Python; it owns the Operator.
struct NumpyOp {
  PyObject_HEAD vectorcallfunc vectorcall;
  Operator* impl;
  PyObject* weakrefs;
};

Operator& operator_of(PyObject* self) { return *reinterpret_cast<NumpyOp*>(self)->impl; }

PyObject* call_operator(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* keywords) {
  return guarded(
      [&] { return operator_of(self).call(args, static_cast<size_t>(PyVectorcall_NARGS(nargsf)), keywords); });
}

PyObject* new_operator(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const char* const names[] = {"plan", "index", "bind", nullptr};
    const char* bytes;
    Py_ssize_t size, index;
    PyObject* find_kernel;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "y#nO:NumpyOp", const_cast<char**>(names), &bytes, &size, &index,
                                     &find_kernel))
      throw PythonError{};
    import_numpy();
    auto impl = std::make_unique<Operator>(read_plan(bytes, size, index), find_kernel);
    PyObject* self = type->tp_alloc(type, 0);
    if (!self) throw PythonError{};
    reinterpret_cast<NumpyOp*>(self)->vectorcall = call_operator;
    reinterpret_cast<NumpyOp*>(self)->impl = impl.release();
    return self;
  });
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (reinterpret_cast<NumpyOp*>(self)->impl) Py_VISIT(operator_of(self).find_kernel());
  return 0;
}

int clear(PyObject* self) {
  operator_of(self).clear();
  return 0;
}

void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  if (reinterpret_cast<NumpyOp*>(self)->weakrefs) PyObject_ClearWeakRefs(self);
  delete reinterpret_cast<NumpyOp*>(self)->impl;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* rebind(PyObject* self, PyObject* kernel) {
  return guarded([&] {
    operator_of(self).rebind(kernel);
    return Py_NewRef(Py_None);
  });
}

PyObject* repr(PyObject* self) {
  return PyUnicode_FromFormat("<opbridge numpy operator %s>", operator_of(self).plan().op.schema.c_str());
}

PyMethodDef methods[] = {
    {"rebind", rebind, METH_O, "Uses another kernel from the next call on; calls under way end with theirs."}, {}};

PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(NumpyOp, vectorcall), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(NumpyOp, weakrefs), READONLY, nullptr},
                         {}};

PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(new_operator)},
                       {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_repr, reinterpret_cast<void*>(repr)},
                       {Py_tp_methods, methods},
                       {Py_tp_members, members},
                       {Py_tp_doc, const_cast<char*>("NumpyOp(plan, index, bind): an operator on NumPy arrays.")},
                       {}};

PyType_Spec spec = {"opbridge._core.NumpyOp", sizeof(NumpyOp), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE,
                    slots};

}  // namespace

void add_numpy_op_type(PyObject* module) { add_type(module, spec); }

}  // namespace opbridge

#include "numpy_op.h"

#include <deque>
#include <memory>
#include <vector>

#include "../binding.h"
#include "kernel.h"
#include "numpy_call.h"

namespace opbridge {
namespace {

class Operator {
 public:
  Operator(OpPlan plan, PyObject* find_kernel) : plan_(std::move(plan)), find_kernel_(Ref::copy(find_kernel)) {
    for (const ArgPlan& arg : plan_.op.args)
      names_.push_back(Ref::checked(PyUnicode_InternFromString(arg.name.c_str())));
    out_name_ = Ref::checked(PyUnicode_InternFromString("out"));
  }

  const NumpyPlan& plan() const { return plan_; }
  PyObject* find_kernel() const { return find_kernel_.get(); }
  void clear() { find_kernel_ = Ref::copy(Py_None); }

  PyObject* call(PyObject* const* args, size_t count, PyObject* keywords) {
    const size_t arity = plan_.op.args.size();
    if (count > plan_.positional) too_many(count);
    if (arity > kUsualArity) {
      std::vector<PyObject*> values(arity);
      return call(args, count, keywords, values.data());
    }
    PyObject* values[kUsualArity];
    return call(args, count, keywords, values);
  }

  void rebind(PyObject* object) {
    Kernel* kernel = as_kernel(object);
    if (!kernel)
      raise("KernelError", plan_.full_name + ": a kernel must come from load_kernel, got " + type_name(object));
    Binding binding;
    binding.function = kernel->function;
    binding.signature = kernel->signature;
    binding.symbol = text_of(kernel->symbol);
    const std::string misfit = bind(plan_.op, binding);
    if (!misfit.empty()) raise("KernelError", misfit);
    bindings_.push_back(std::move(binding));
    current_ = &bindings_.back();
  }

 private:
  static constexpr size_t kUsualArity = 16;

  PyObject* call(PyObject* const* args, size_t count, PyObject* keywords, PyObject** values) {
    const size_t arity = plan_.op.args.size();
    std::copy(args, args + count, values);
    std::fill(values + count, values + arity, nullptr);
    PyObject* out = nullptr;
    const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
    for (Py_ssize_t i = 0; i < named; ++i) {
      PyObject*& place = find(PyTuple_GET_ITEM(keywords, i), values, out);
      if (place) twice(PyTuple_GET_ITEM(keywords, i));
      place = args[count + static_cast<size_t>(i)];
    }
    for (size_t i = 0; i < arity; ++i)
      if (!values[i] && !plan_.op.args[i].has(kHasDefault)) missing(plan_.op.args[i]);
    if (!current_) rebind(Ref::checked(PyObject_CallNoArgs(find_kernel_.get())).get());
    return NumpyCall(plan_, *current_).run(values, out == Py_None ? nullptr : out);
  }

  // Where the value of a keyword goes.
  PyObject*& find(PyObject* keyword, PyObject** values, PyObject*& out) const {
    for (size_t i = 0; i < names_.size(); ++i)
      if (names_[i].get() == keyword) return values[i];
    if (out_name_.get() == keyword && plan_.offers_out) return out;
    // Keywords in source code are interned, those made at run time need not be.
    for (size_t i = 0; i < names_.size(); ++i)
      if (PyUnicode_Compare(names_[i].get(), keyword) == 0) return values[i];
    if (PyUnicode_Compare(out_name_.get(), keyword) == 0 && plan_.offers_out) return out;
    unknown(keyword);
  }

  [[noreturn]] void fail(const std::string& message) const {
    raise("CallError", plan_.full_name + ": " + message + "; the schema is " + plan_.op.schema);
  }
  [[noreturn]] void too_many(size_t count) const {
    std::string message = std::to_string(plan_.positional) + " arguments go by position, got " + std::to_string(count);
    if (plan_.positional < plan_.op.args.size()) {
      const std::string& next = plan_.op.args[plan_.positional].name;
      message += "; write " + next + "=... for '" + next + "'";
    }
    fail(message);
  }
  [[noreturn]] void missing(const ArgPlan& arg) const { fail("argument '" + arg.name + "' is missing"); }
  [[noreturn]] void twice(PyObject* keyword) const {
    fail("argument '" + text_of(keyword) + "' was passed twice, by position and by name");
  }
  [[noreturn]] void unknown(PyObject* keyword) const {
    Ref errors = Ref::checked(PyImport_ImportModule("opbridge.errors"));
    Ref known = Ref::checked(PyList_New(0));
    for (const Ref& name : names_)
      if (PyList_Append(known.get(), name.get()) < 0) throw PythonError{};
    if (plan_.offers_out && PyList_Append(known.get(), out_name_.get()) < 0) throw PythonError{};
    Ref hint = Ref::checked(PyObject_CallMethod(errors.get(), "did_you_mean", "OO", keyword, known.get()));
    const std::string near = text_of(hint.get());
    fail("there is no argument '" + text_of(keyword) + "'" + (near.empty() ? "" : ", " + near));
  }

  const NumpyPlan plan_;
  Ref find_kernel_;
  std::vector<Ref> names_;
  Ref out_name_;
  // A call that began before a rebind goes on with its kernel, so no binding goes before the operator does.
  std::deque<Binding> bindings_;
  const Binding* current_ = nullptr;
};

struct NumpyOp {
  PyObject_HEAD vectorcallfunc vectorcall;
  Operator* impl;
};

Operator& operator_of(PyObject* self) { return *reinterpret_cast<NumpyOp*>(self)->impl; }

PyObject* call_operator(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* keywords) {
  return guarded(
      [&] { return operator_of(self).call(args, static_cast<size_t>(PyVectorcall_NARGS(nargsf)), keywords); });
}

OpPlan read_plan(const char* bytes, Py_ssize_t size, Py_ssize_t index) {
  try {
    return PlanReader(bytes, static_cast<size_t>(size)).read(index);
  } catch (const std::runtime_error& error) {
    raise("OpbridgeError", error.what());
  }
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

PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(NumpyOp, vectorcall), READONLY, nullptr}, {}};

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

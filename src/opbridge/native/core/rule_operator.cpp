// `opbridge._core.RuleOperator`: makes the Targets of one operator.
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "../element_types.h"
#include "../rule_arguments.h"
#include "arrays.h"
#include "attributes.h"
#include "kernel.h"
#include "mindspore_functions.h"
#include "rule_target.h"

namespace opbridge {
namespace {

// An operator to Python, as a maker of Targets, which share its plan and may outlive it.
struct RuleOperator {
  PyObject_HEAD std::shared_ptr<const NumpyPlan> plan;
};

const std::shared_ptr<const NumpyPlan>& plan_of(PyObject* self) { return reinterpret_cast<RuleOperator*>(self)->plan; }

// Attributes as words, so that equal attributes have equal bytes: of each, its kind, its count, and its value or those
// of its items, a string's bytes padded to words.
class AttributeWriter {
 public:
  void add(const ob_arg& arg) {
    words_.push_back(arg.kind);
    words_.push_back(arg.count);
    switch (arg.kind) {
      case OB_ARG_NONE:
        break;
      case OB_ARG_STRING:
        bytes(arg.v.s, static_cast<size_t>(arg.count));
        break;
      case OB_ARG_BOOLS:
        bytes(arg.v.bools, static_cast<size_t>(arg.count));
        break;
      case OB_ARG_INTS:
      case OB_ARG_FLOATS:
      case OB_ARG_INT_ROWS:
      case OB_ARG_FLOAT_ROWS:
        bytes(arg.v.ints, static_cast<size_t>(arg.count) * sizeof(int64_t));
        break;
      default:
        words_.push_back(arg.v.i);
    }
  }
  Ref result() const {
    return Ref::checked(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(words_.data()),
                                                  static_cast<Py_ssize_t>(words_.size() * sizeof(int64_t))));
  }

 private:
  void bytes(const void* data, size_t size) {
    const size_t begin = words_.size();
    words_.resize(begin + size / sizeof(int64_t) + 1);  // one byte more at least, for a string's end
    if (size) std::memcpy(words_.data() + begin, data, size);
  }

  std::vector<int64_t> words_;
};

// Reads back what AttributeWriter wrote; lists and strings lie in `words`.
class AttributeReader {
 public:
  explicit AttributeReader(const int64_t* words) : next_(words) {}

  ob_arg read() {
    ob_arg arg{static_cast<int32_t>(next_[0]), static_cast<int32_t>(next_[1]), {}};
    next_ += 2;
    switch (arg.kind) {
      case OB_ARG_NONE:
        break;
      case OB_ARG_STRING:
      case OB_ARG_BOOLS:
        skip(arg, static_cast<size_t>(arg.count));
        break;
      case OB_ARG_INTS:
      case OB_ARG_FLOATS:
      case OB_ARG_INT_ROWS:
      case OB_ARG_FLOAT_ROWS:
        skip(arg, static_cast<size_t>(arg.count) * sizeof(int64_t));
        break;
      default:
        arg.v.i = *next_++;
    }
    return arg;
  }

 private:
  void skip(ob_arg& arg, size_t size) {
    arg.v.ints = next_;
    next_ += size / sizeof(int64_t) + 1;
  }

  const int64_t* next_;
};

std::vector<int64_t> words_of(PyObject* attributes) {
  char* bytes;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(attributes, &bytes, &size) < 0) throw PythonError{};
  std::vector<int64_t> words(static_cast<size_t>(size) / sizeof(int64_t));
  std::memcpy(words.data(), bytes, words.size() * sizeof(int64_t));
  return words;
}

// attributes(values): what a dict of them is to the kernel.
PyObject* attributes(PyObject* self, PyObject* values) {
  return guarded([&]() -> PyObject* {
    const NumpyPlan& plan = *plan_of(self);
    ScratchArena memory;
    AttributeWriter writer;
    for (size_t i = 0; i < plan.op.args.size(); ++i) {
      const ArgPlan& arg = plan.op.args[i];
      if (arg.is_tensor()) continue;
      PyObject* value = PyDict_GetItemString(values, arg.name.c_str());
      writer.add(value ? read_attribute(plan.op, arg, value, memory) : plan.defaults[i]);
    }
    return writer.result().release();
  });
}

PyObject* number(const ob_arg& arg) {
  switch (arg.kind) {
    case OB_ARG_NONE:
      return Py_NewRef(Py_None);
    case OB_ARG_BOOL:
      return PyBool_FromLong(arg.v.i != 0);
    case OB_ARG_FLOAT:
      return PyFloat_FromDouble(arg.v.d);
    case OB_ARG_STRING:
      return PyUnicode_FromStringAndSize(arg.v.s, arg.count);
    case OB_ARG_DTYPE:
      return PyUnicode_FromString(dtype_name(static_cast<int>(arg.v.i)));
    default:
      return PyLong_FromLongLong(arg.v.i);
  }
}

Ref item(const ob_arg& list, int32_t i) {
  ob_arg element{};
  switch (list.kind) {
    case OB_ARG_BOOLS:
      element.kind = OB_ARG_BOOL;
      element.v.i = list.v.bools[i];
      break;
    case OB_ARG_FLOATS:
      element.kind = OB_ARG_FLOAT;
      element.v.d = list.v.floats[i];
      break;
    default:
      element.kind = OB_ARG_INT;
      element.v.i = list.v.ints[i];
  }
  return Ref::checked(number(element));
}

Ref items(const ob_arg& list) {
  Ref tuple = Ref::checked(PyTuple_New(list.count));
  for (int32_t i = 0; i < list.count; ++i) PyTuple_SET_ITEM(tuple.get(), i, item(list, i).release());
  return tuple;
}

Ref rows(const ob_arg& arg) {
  const int64_t count = arg.v.ints[0];
  const int64_t* next = arg.v.ints + 1 + count;
  Ref tuple = Ref::checked(PyTuple_New(count));
  for (int64_t i = 0; i < count; ++i) {
    ob_arg row{arg.kind == OB_ARG_INT_ROWS ? OB_ARG_INTS : OB_ARG_FLOATS, static_cast<int32_t>(arg.v.ints[1 + i]), {}};
    row.v.ints = next;
    next += row.count;
    PyTuple_SET_ITEM(tuple.get(), i, items(row).release());
  }
  return tuple;
}

// values(attributes): the other way round, by name.
PyObject* values(PyObject* self, PyObject* encoded) {
  return guarded([&]() -> PyObject* {
    const std::vector<int64_t> words = words_of(encoded);
    AttributeReader reader(words.data());
    Ref found = Ref::checked(PyDict_New());
    for (const ArgPlan& arg : plan_of(self)->op.args) {
      if (arg.is_tensor()) continue;
      const ob_arg value = reader.read();
      Ref object;
      if (value.kind == OB_ARG_INTS || value.kind == OB_ARG_FLOATS || value.kind == OB_ARG_BOOLS) {
        object = items(value);
      } else if (value.kind == OB_ARG_INT_ROWS || value.kind == OB_ARG_FLOAT_ROWS) {
        object = rows(value);
      } else {
        object = Ref::checked(number(value));
      }
      if (PyDict_SetItemString(found.get(), arg.name.c_str(), object.get()) < 0) throw PythonError{};
    }
    return found.release();
  });
}

// The dtype code of one tensor, or None where it is absent.
TensorSlot slot_of(PyObject* kind, const ArgPlan& arg, int64_t& inputs) {
  if (kind == Py_None) return {};
  const long code = PyLong_AsLong(kind);
  if (PyErr_Occurred()) throw PythonError{};
  return {static_cast<int32_t>(code), inputs++, arg.has(kMutable)};
}

FixedArguments fixed_arguments(const NumpyPlan& plan, PyObject* encoded, PyObject* kinds) {
  FixedArguments fixed;
  fixed.storage = words_of(encoded);
  AttributeReader reader(fixed.storage.data());
  int64_t inputs = 0;
  Py_ssize_t next = 0;
  for (const ArgPlan& arg : plan.op.args) {
    if (!arg.is_tensor()) {
      fixed.args.push_back(reader.read());
      continue;
    }
    PyObject* kind = PyTuple_GetItem(kinds, next++);
    if (!kind) throw PythonError{};
    ob_arg use{arg.has(kList) ? OB_ARG_TENSORS : OB_ARG_TENSOR, 1, {}};
    use.v.first = static_cast<int64_t>(fixed.slots.size());
    if (!arg.has(kList)) {
      fixed.slots.push_back(slot_of(kind, arg, inputs));
    } else if (kind == Py_None) {
      use.v.first = kNoList;
      use.count = 0;
    } else {
      use.count = static_cast<int32_t>(PyTuple_Size(kind));
      if (use.count < 0) throw PythonError{};
      for (int32_t i = 0; i < use.count; ++i) fixed.slots.push_back(slot_of(PyTuple_GET_ITEM(kind, i), arg, inputs));
    }
    fixed.args.push_back(use);
  }
  return fixed;
}

void delete_target(PyObject* capsule) {
  delete static_cast<std::shared_ptr<Target>*>(PyCapsule_GetPointer(capsule, kTargetCapsule));
}

int32_t device_type_of(PyObject* name) {
  const std::string text = text_of(name);
  return text == "cuda" ? OB_DEVICE_CUDA : text == "npu" ? OB_DEVICE_NPU : OB_DEVICE_CPU;
}

// target(attributes, kinds, kernel, device="cpu"): a capsule.
PyObject* target(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    if (count != 3 && count != 4) {
      PyErr_SetString(PyExc_TypeError, "target(attributes, kinds, kernel, device='cpu')");
      throw PythonError{};
    }
    const std::shared_ptr<const NumpyPlan>& plan = plan_of(self);
    Binding kernel = bound_kernel(args[2], plan->op, plan->full_name);
    FixedArguments fixed = fixed_arguments(*plan, args[0], args[1]);
    const std::string refused = refused_types(plan->op, kernel, fixed.args.data(),
                                              [&](int64_t i) { return fixed.slots[static_cast<size_t>(i)].dtype; });
    if (!refused.empty()) raise("CallError", plan->full_name + ": " + refused);
    auto made = std::make_unique<std::shared_ptr<Target>>(std::make_shared<RuleTarget>(
        plan, std::move(kernel), std::move(fixed), count == 4 ? device_type_of(args[3]) : OB_DEVICE_CPU));
    PyObject* capsule = PyCapsule_New(made.get(), kTargetCapsule, delete_target);
    if (!capsule) throw PythonError{};
    made.release();
    return capsule;
  });
}

PyObject* new_operator(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const char* const names[] = {"plan", "index", nullptr};
    const char* bytes;
    Py_ssize_t size, index;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "y#n:RuleOperator", const_cast<char**>(names), &bytes, &size,
                                     &index))
      throw PythonError{};
    import_numpy();
    auto plan = std::make_shared<const NumpyPlan>(read_plan(bytes, size, index));
    PyObject* self = type->tp_alloc(type, 0);
    if (!self) throw PythonError{};
    new (&reinterpret_cast<RuleOperator*>(self)->plan) std::shared_ptr<const NumpyPlan>(std::move(plan));
    return self;
  });
}

void dealloc(PyObject* self) {
  reinterpret_cast<RuleOperator*>(self)->plan.~shared_ptr();
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMethodDef methods[] = {
    {"attributes", attributes, METH_O,
     "attributes(values): the attributes of a call as the kernel gets them, as bytes."},
    {"values", values, METH_O, "values(attributes): all attributes by name, the defaults among them."},
    {"target", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(target)), METH_FASTCALL,
     "target(attributes, kinds, kernel, device='cpu'): a Target; kinds are dtype codes, None, or tuples of them."},
    {}};

PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(new_operator)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_methods, methods},
                       {Py_tp_doc, const_cast<char*>("RuleOperator(plan, index): makes the Targets of an operator.")},
                       {}};

PyType_Spec spec = {"opbridge._core.RuleOperator", sizeof(RuleOperator), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots};

}  // namespace

void add_rule_operator_type(PyObject* module) { add_type(module, spec); }

}  // namespace opbridge

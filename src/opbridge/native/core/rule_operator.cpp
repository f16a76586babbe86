// `opbridge._core.RuleOperator`: makes the Targets of one operator.
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "../element_types.h"
#include "../rule_arguments.h"
#include "arrays.h"
#include "attribute_words.h"
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

std::vector<int64_t> words_of(const OpPlan& op, PyObject* attributes) {
  char* bytes;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(attributes, &bytes, &size) < 0) throw PythonError{};
  if (size % static_cast<Py_ssize_t>(sizeof(int64_t))) damaged_attributes(op, "whole words");
  std::vector<int64_t> words(static_cast<size_t>(size) / sizeof(int64_t));
  if (size) std::memcpy(words.data(), bytes, static_cast<size_t>(size));
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
      // Held, since reading it may run Python code that takes it out of the dict.
      Ref value = Ref::copy(PyDict_GetItemString(values, arg.name.c_str()));
      writer.add(value ? read_attribute(plan.op, arg, value.get(), memory) : plan.defaults[i]);
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
    const std::vector<int64_t> words = words_of(plan_of(self)->op, encoded);
    AttributeReader reader(plan_of(self)->op, words);
    Ref found = Ref::checked(PyDict_New());
    for (const ArgPlan& arg : plan_of(self)->op.args) {
      if (arg.is_tensor()) continue;
      const ob_arg value = reader.read(arg);
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
    reader.end();
    return found.release();
  });
}

// The dtype code of one tensor, or None where it is absent.
TensorSlot slot_of(const OpPlan& op, PyObject* kind, const ArgPlan& arg, int64_t& inputs) {
  if (kind == Py_None && arg.has(arg.has(kList) ? kElementOptional : kOptional)) return {};
  const long code = PyLong_Check(kind) ? PyLong_AsLong(kind) : -1;
  if (code < 0 || code >= OB_DTYPE_COUNT) {
    PyErr_Clear();
    refuse(op, arg, "the code of an element type", text_of(Ref::checked(PyObject_Repr(kind)).get()));
  }
  return {static_cast<int32_t>(code), inputs++, arg.has(kMutable)};
}

FixedArguments fixed_arguments(const NumpyPlan& plan, PyObject* encoded, PyObject* kinds) {
  FixedArguments fixed;
  fixed.storage = words_of(plan.op, encoded);
  AttributeReader reader(plan.op, fixed.storage);
  int64_t inputs = 0;
  Py_ssize_t next = 0;
  for (const ArgPlan& arg : plan.op.args) {
    if (!arg.is_tensor()) {
      fixed.args.push_back(reader.read(arg));
      continue;
    }
    PyObject* kind = PyTuple_GetItem(kinds, next++);
    if (!kind) throw PythonError{};
    ob_arg use{arg.has(kList) ? OB_ARG_TENSORS : OB_ARG_TENSOR, 1, {}};
    use.v.first = static_cast<int64_t>(fixed.slots.size());
    if (!arg.has(kList)) {
      fixed.slots.push_back(slot_of(plan.op, kind, arg, inputs));
    } else if (kind == Py_None && arg.has(kOptional)) {
      use.v.first = kNoList;
      use.count = 0;
    } else {
      use.count = static_cast<int32_t>(PyTuple_Size(kind));
      if (use.count < 0) throw PythonError{};
      for (int32_t i = 0; i < use.count; ++i)
        fixed.slots.push_back(slot_of(plan.op, PyTuple_GET_ITEM(kind, i), arg, inputs));
    }
    fixed.args.push_back(use);
  }
  reader.end();
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

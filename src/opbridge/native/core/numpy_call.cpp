#include "numpy_call.h"

#include <algorithm>

#include "../masked_array.h"
#include "../rule_arguments.h"
#include "attributes.h"
#include "host.h"

namespace opbridge {

// The tensors of a call, for rules.
struct ArrayTensors {
  PyArrayObject* const* arrays;

  bool present(int64_t i) const { return arrays[i] != nullptr; }
  int64_t rank(int64_t i) const { return PyArray_NDIM(arrays[i]); }
  int64_t dim(int64_t i, int64_t k) const { return PyArray_DIM(arrays[i], static_cast<int>(k)); }
  int dtype(int64_t i) const { return dtype_code(arrays[i]); }
};

OpPlan read_plan(const char* bytes, Py_ssize_t size, Py_ssize_t index) {
  try {
    return PlanReader(bytes, static_cast<size_t>(size)).read(index);
  } catch (const std::runtime_error& error) {
    raise("OpbridgeError", error.what());
  }
}

NumpyPlan::NumpyPlan(OpPlan plan) : op(std::move(plan)), full_name(op.full_name()), out_name("out") {
  for (const ArgPlan& arg : op.args) {
    const bool unusual_list =
        arg.has(kList) && (arg.kind == Kind::String || arg.kind == Kind::Dtype || arg.kind == Kind::Scalar);
    if (arg.kind == Kind::Other || unusual_list || (arg.has(kElementOptional) && !arg.is_tensor()))
      raise("UnsupportedError",
            full_name + ": argument '" + arg.name + "' has a type that kernels cannot be handed: " + op.schema);
    defaults.push_back(arg.is_tensor() || !arg.has(kHasDefault) ? ob_arg{OB_ARG_NONE, 0, {}}
                                                                : read_default(arg, memory_));
    positional += !arg.has(kKeywordOnly);
    mutates |= arg.has(kMutable);
  }
  for (const OutPlan& out : op.outs) new_outputs += out.alias_arg < 0;
  const auto taken = [this](const ArgPlan& arg) { return arg.name == out_name; };
  while (std::any_of(op.args.begin(), op.args.end(), taken)) out_name += '_';
}

PyObject* NumpyCall::run(PyObject* const* values, PyObject* out) {
  read(values);
  invocation_.inputs_end();
  if (plan_.op.equal_shapes)
    if (const std::string unequal = invocation_.unequal_shapes(plan_.op); !unequal.empty()) fail(unequal);
  if (plan_.mutates) check_overlap();
  outputs(out);

  const std::string error = run_kernel(cpu_services(memory_));
  if (!error.empty()) raise("KernelError", error);

  for (size_t i = 0; i < write_backs_.size(); ++i) {
    const WriteBack& back = write_backs_.data()[i];
    if (PyArray_CopyInto(back.destination, back.copy) < 0) throw PythonError{};
  }
  return result(values);
}

std::string NumpyCall::run_kernel(const HostServices& services) {
  // Releasing the GIL and taking it back costs a quarter of a small call.  Only of an elementwise operator is it known
  // that few elements mean little work; every other one lets other threads run.
  constexpr int64_t few = 1024;
  auto run = [&] { return invocation_.run(kernel_, plan_.full_name.c_str(), services, pass_strides_); };
  if (plan_.op.batch == Batch::Elementwise && elements() <= few) return run();
  const WithoutGil no_gil;
  return run();
}

int64_t NumpyCall::elements() {
  int64_t total = 0;
  for (size_t i = 0; i < arrays_.size(); ++i)
    if (PyArrayObject* array = arrays_.data()[i]) total += PyArray_SIZE(array);
  return total;
}

void NumpyCall::read(PyObject* const* values) {
  size_t tensor_argument = 0;
  for (size_t i = 0; i < plan_.op.args.size(); ++i) {
    const ArgPlan& arg = plan_.op.args[i];
    PyObject* value = values[i];
    if (arg.is_tensor())
      read_tensors(arg, value, kernel_.strided[tensor_argument++] != 0);
    else
      invocation_.args.push_back(value ? read_attribute(plan_.op, arg, value, memory_) : plan_.defaults[i]);
  }
}

void NumpyCall::read_tensors(const ArgPlan& arg, PyObject* value, bool strided) {
  const bool none = !value || (value == Py_None && arg.has(kOptional));
  ob_arg& use = invocation_.args.append();
  use.kind = arg.has(kList) ? OB_ARG_TENSORS : OB_ARG_TENSOR;
  use.count = 1;
  use.v.first = invocation_.tensor_count();
  if (arg.has(kList)) {
    if (none)
      use.v.first = kNoList;
    else
      read_list(arg, value, strided);
    use.count = none ? 0 : static_cast<int32_t>(invocation_.tensor_count() - use.v.first);
  } else if (none) {
    missing_input();
  } else {
    input(arg, checked_array(arg, value), strided);
  }
}

void NumpyCall::read_list(const ArgPlan& arg, PyObject* value, bool strided) {
  if (!PyList_Check(value) && !PyTuple_Check(value))
    refuse(plan_.op, arg, "a list or tuple of numpy arrays", type_name(value), "write [x] for one array");
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(value, i);
    if (item == Py_None && arg.has(kElementOptional)) {
      missing_input();
      continue;
    }
    // Kept, since another thread may empty the list while the kernel runs, and this one while the item is looked at.
    Ref held = Ref::copy(item);
    checked_array(arg, item);
    input(arg, keep(std::move(held)), strided);
  }
}

PyArrayObject* NumpyCall::checked_array(const ArgPlan& arg, PyObject* value) {
  if (!PyArray_Check(value)) refuse_stranger(arg, value);
  if (!PyArray_CheckExact(value) && is_masked_array(value))
    refuse(plan_.op, arg, "a numpy array", "a masked one", kUnmask);
  return as_array(value);
}

void NumpyCall::missing_input() {
  given_.push_back(nullptr);
  arrays_.push_back(nullptr);
  invocation_.missing_tensor();
}

void NumpyCall::input(const ArgPlan& arg, PyArrayObject* given, bool strided) {
  const bool written = arg.has(kMutable);
  const int code = dtype_code(given);
  if (code < 0)
    refuse(plan_.op, arg, "an array of numbers", "one of dtype " + dtype_text(given),
           "convert it, as with .astype(np.float32)");
  if (written) {
    if (!PyArray_ISWRITEABLE(given))
      refuse(plan_.op, arg, "an array it can write to", "a read-only one", "pass a .copy()");
    mutables_.push_back({given_.size(), given});
  }
  PyArrayObject* used = given;
  const bool usable = strided ? is_plain(given) && has_element_strides(given, written) : is_contiguous(given);
  if (!usable) {
    used = keep(contiguous_copy(given));
    if (written) write_backs_.push_back({given, used});
  }
  given_.push_back(given);
  add(used, code);
}

void NumpyCall::add(PyArrayObject* array, int code) {
  static_assert(sizeof(npy_intp) == sizeof(int64_t), "shapes are handed to kernels as they are");
  const int ndim = PyArray_NDIM(array);
  int64_t* strides = nullptr;
  if (pass_strides_) {
    strides = static_cast<int64_t*>(memory_.take(sizeof(int64_t) * static_cast<size_t>(ndim)));
    if (!strides) throw std::bad_alloc();
    for (int i = 0; i < ndim; ++i) strides[i] = PyArray_STRIDE(array, i) / PyArray_ITEMSIZE(array);
  }
  arrays_.push_back(array);
  invocation_.tensor(PyArray_DATA(array), ndim, reinterpret_cast<const int64_t*>(PyArray_DIMS(array)), strides, code);
}

// A kernel that reads one array while it writes another sees a mixture where both are the same memory.  Element by
// element it reads each one before it writes it, so there the two may be one and the same view.
void NumpyCall::check_overlap() {
  for (size_t i = 0; i < mutables_.size(); ++i) {
    const Mutable& written = mutables_.data()[i];
    for (size_t other = 0; other < given_.size(); ++other) {
      PyArrayObject* array = given_.data()[other];
      if (!array || other == written.input) continue;
      bool also_written = false;
      for (size_t k = 0; k < mutables_.size(); ++k) also_written |= mutables_.data()[k].input == other;
      if (plan_.op.batch == Batch::Elementwise && !also_written && same_view(array, written.given)) continue;
      if (!share_memory(array, written.given)) continue;
      const std::string &name = name_of_input(written.input), &another = name_of_input(other);
      const std::string pair = &name == &another
                                   ? "two arrays of '" + name + "', which are written to,"
                                   : "arguments '" + name + "', which is written to, and '" + another + "'";
      fail(pair + " share memory; pass a .copy() of one");
    }
  }
}

void NumpyCall::outputs(PyObject* out) {
  if (out && plan_.new_outputs > 1 &&
      (!PyTuple_Check(out) || PyTuple_GET_SIZE(out) != static_cast<Py_ssize_t>(plan_.new_outputs)))
    fail("'out' expects a tuple of " + std::to_string(plan_.new_outputs) + " arrays, got " + type_name(out) +
         (PyTuple_Check(out) ? " of " + std::to_string(PyTuple_GET_SIZE(out)) : ""));
  for (const OutPlan& plan : plan_.op.outs) {
    if (plan.alias_arg >= 0) continue;
    SmallShape<int64_t> shape;
    const Layout wanted = layout(plan, shape);
    if (!out) {
      PyArrayObject* fresh = allocated_output(wanted);
      results_.push_back(fresh);
      add(fresh, wanted.code);
    } else {
      PyObject* target = plan_.new_outputs == 1 ? out : PyTuple_GET_ITEM(out, static_cast<Py_ssize_t>(results_.size()));
      add(given_output(plan, wanted, target), wanted.code);
      results_.push_back(as_array(target));
    }
  }
}

NumpyCall::Layout NumpyCall::layout(const OutPlan& out, SmallShape<int64_t>& shape) {
  if (out.from_kernel()) return layout_from_kernel();
  const RuleArguments<ArrayTensors> environment{plan_.op, invocation_.args.data(), {arrays_.data()}};
  try {
    if (out.like_arg >= 0) {
      PyArrayObject* like = arrays_.data()[environment.place(static_cast<int>(out.like_arg), 0)];
      return {PyArray_NDIM(like), PyArray_DIMS(like), dtype_code(like)};
    }
    evaluate_shape<int64_t>(out.program.data(), out.program.size(), environment, shape);
    const int code = evaluate_dtype<int64_t>(out.program.data(), out.program.size(), environment);
    return {static_cast<int>(shape.size()), reinterpret_cast<const npy_intp*>(shape.data()), code};
  } catch (const RuleFailure& failure) {
    fail(std::string("these arguments give no shape or dtype for the output: ") + failure.what());
  }
}

// The kernel is asked once, when its first output is made.
NumpyCall::Layout NumpyCall::layout_from_kernel() {
  if (inferred_.empty())
    if (const std::string error = invocation_.infer(kernel_, plan_.op, inferred_); !error.empty())
      raise("KernelError", error);
  const AotKernel::Output& output = inferred_[results_.size()];
  return {static_cast<int>(output.shape.size()), reinterpret_cast<const npy_intp*>(output.shape.data()), output.dtype};
}

PyArrayObject* NumpyCall::allocated_output(const Layout& wanted) {
  PyArrayObject* like = nullptr;
  if (wanted.code == OB_bfloat16) {
    for (size_t i = 0; i < given_.size() && !like; ++i)
      if (PyArrayObject* array = given_.data()[i]; array && dtype_code(array) == OB_bfloat16) like = array;
  }
  try {
    return keep(new_array(wanted.ndim, wanted.shape, wanted.code, like));
  } catch (const PythonError&) {
    if (!PyErr_ExceptionMatches(PyExc_ValueError)) throw;
    PyErr_Clear();
    fail("the out rule gives " + std::string(dtype_name(wanted.code)) + " " + shape_text(wanted.ndim, wanted.shape) +
         ", more than a NumPy array can be; look at the sizes passed");
  }
}

PyArrayObject* NumpyCall::given_output(const OutPlan& out, const Layout& wanted, PyObject* object) {
  const std::string what = out.name.empty() ? "'out'" : "'out' for '" + out.name + "'";
  if (!PyArray_Check(object)) fail(what + " expects a numpy array, got " + type_name(object));
  if (!PyArray_CheckExact(object) && is_masked_array(object))
    fail(what + " expects a numpy array, got a masked one; pass its x.data");
  PyArrayObject* target = as_array(object);
  if (dtype_code(target) != wanted.code)
    fail(what + " expects dtype " + dtype_name(wanted.code) + ", got " + dtype_text(target));
  if (PyArray_NDIM(target) != wanted.ndim || !PyArray_CompareLists(PyArray_DIMS(target), wanted.shape, wanted.ndim))
    fail(what + " expects shape " + shape_text(wanted.ndim, wanted.shape) + ", got " +
         shape_text(PyArray_NDIM(target), PyArray_DIMS(target)));
  if (!PyArray_ISWRITEABLE(target)) fail(what + " expects an array that can be written to, got a read-only one");
  for (size_t i = 0; i < mutables_.size(); ++i)
    if (share_memory(target, mutables_.data()[i].given))
      fail(what + " and argument '" + name_of_input(mutables_.data()[i].input) + "' share memory; pass another array");
  for (size_t i = 0; i < results_.size(); ++i)
    if (share_memory(target, results_.data()[i])) fail("two arrays in 'out' share memory; pass one for each output");

  if (!needs_temporary(target)) return target;
  PyArrayObject* temporary = allocated_output(wanted);
  write_backs_.push_back({target, temporary});
  return temporary;
}

bool NumpyCall::needs_temporary(PyArrayObject* target) {
  if (!is_contiguous(target)) return true;
  for (size_t i = 0; i < given_.size(); ++i) {
    PyArrayObject* read = arrays_.data()[i];
    if (!read || !ranges_meet(read, target)) continue;
    if (plan_.op.batch != Batch::Elementwise || !same_view(read, target)) return true;
  }
  return false;
}

PyObject* NumpyCall::result(PyObject* const* values) {
  size_t next = 0;
  auto one = [&](const OutPlan& out) {
    if (out.alias_arg < 0) return Ref::copy(reinterpret_cast<PyObject*>(results_.data()[next++]));
    PyObject* argument = values[out.alias_arg];
    return Ref::copy(argument ? argument : Py_None);
  };
  const std::vector<OutPlan>& outs = plan_.op.outs;
  if (outs.empty()) return Py_NewRef(Py_None);
  if (outs.size() == 1) return one(outs[0]).release();
  Ref tuple = Ref::checked(PyTuple_New(static_cast<Py_ssize_t>(outs.size())));
  for (size_t i = 0; i < outs.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), one(outs[i]).release());
  return tuple.release();
}

PyArrayObject* NumpyCall::keep(Ref array) { return as_array(kept_.keep(std::move(array))); }

const std::string& NumpyCall::name_of_input(size_t input) {
  size_t arg = 0;
  for (size_t i = 0; i < invocation_.args.size(); ++i) {
    const ob_arg& use = invocation_.args.data()[i];
    const bool tensors = use.kind == OB_ARG_TENSOR || use.kind == OB_ARG_TENSORS;
    if (tensors && static_cast<size_t>(use.v.first) <= input && input < static_cast<size_t>(use.v.first + use.count))
      arg = i;
  }
  return plan_.op.args[arg].name;
}

void NumpyCall::fail(const std::string& message) const { raise("CallError", plan_.full_name + ": " + message); }

void NumpyCall::refuse_stranger(const ArgPlan& arg, PyObject* value) {
  const std::string type = type_name(value);
  const bool is_jax = type.compare(0, 3, "jax") == 0;  // where arrays of NumPy are constants of a program
  const std::string next = value == Py_None ? "it is not optional"
                           : is_jax         ? "call op.jax, which takes both"
                                            : "write np.asarray(" + arg.name + ")";
  const bool is_tensor = is_jax || PyObject_HasAttrString(value, "__dlpack__") != 0;
  const bool among_arrays =
      std::any_of(given_.data(), given_.data() + given_.size(), [](auto* array) { return array; });
  if (among_arrays && is_tensor)
    fail("argument '" + arg.name + "' is a " + type + ", the others are numpy arrays; " + next +
         ", or pass all tensors of one framework");
  refuse(plan_.op, arg, "a numpy array", type, next);
}

}  // namespace opbridge

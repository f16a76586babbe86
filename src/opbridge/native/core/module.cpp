// `opbridge._core`: the native core.  It imports no framework; NumPy's C API is loaded with the first NumpyOp.
#include <opbridge/pool.h>

#include "../floating_point_mode.h"
#include "crashes.h"
#include "dispatcher.h"
#include "forks.h"
#include "kernel.h"
#include "mindspore_functions.h"
#include "numpy_op.h"
#include "python.h"
#include "tvm_ffi_kernel.h"

namespace opbridge {
namespace {

PyObject* set_num_threads(PyObject*, PyObject* count) {
  return guarded([&]() -> PyObject* {
    const long threads = PyLong_AsLong(count);
    if (threads == -1 && PyErr_Occurred()) throw PythonError{};
    if (threads < 1 || threads > ob::Pool::kMost)
      raise("CallError", "set_num_threads expects a number from 1 to " + std::to_string(ob::Pool::kMost) + ", got " +
                             std::to_string(threads));
    ob::pool.resize(static_cast<int>(threads));
    return Py_NewRef(Py_None);
  });
}

PyObject* num_threads(PyObject*, PyObject*) { return PyLong_FromLong(ob::pool.size()); }

PyObject* changed_modes(PyObject*, PyObject*) {
  return PyLong_FromLongLong(changes_of_floating_point_mode.load(std::memory_order_relaxed));
}

PyObject* watch(PyObject*, PyObject*) {
  watch_for_crashes();
  return Py_NewRef(Py_None);
}

PyObject* end_forks(PyObject*, PyObject* args) {
  int most = 0, exit_code = 0;
  if (!PyArg_ParseTuple(args, "ii", &most, &exit_code)) return nullptr;
  end_forks_of_kernels(most, exit_code);
  return Py_NewRef(Py_None);
}

PyMethodDef functions[] = {
    {"load_kernel", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(load_kernel)), METH_FASTCALL,
     "load_kernel(path, symbol, shown=path): a kernel of a library, which stays loaded; messages call it `shown`."},
    {"load_tvm_ffi_kernel", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(load_tvm_ffi_kernel)), METH_FASTCALL,
     "load_tvm_ffi_kernel(path, function, shown, runtime): as load_kernel, for a library of tvm-ffi's call; `runtime` "
     "is libtvm_ffi.so."},
    {"name_kernel", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(set_kernel_name)), METH_FASTCALL,
     "name_kernel(kernel, operator, advice): what is said where the kernel crashes."},
    {"floating_point_changes", changed_modes, METH_NOARGS,
     "How often a call by NumPy found the floating-point mode changed by its kernel, and put it back."},
    {"watch_for_crashes", watch, METH_NOARGS, "As the first kernel that is opened does."},
    {"end_forks_of_kernels", end_forks, METH_VARARGS,
     "end_forks_of_kernels(most, exit_code): a process that a kernel forks ends at once from now on; one whose kernels "
     "fork more often ends with the exit code."},
    {"publish_target", publish_target, METH_O,
     "publish_target(capsule): the number under which MindSpore reaches an operator from now on."},
    {"withdraw_target", withdraw_target, METH_O,
     "withdraw_target(number): MindSpore makes no further kernels of this operator; those there are go on."},
    {"infer_target", infer_target, METH_VARARGS,
     "infer_target(capsule, shapes): the shape and dtype code of each output, for inputs of these shapes."},
    {"set_num_threads", set_num_threads, METH_O, "How many threads a kernel may use, its caller included."},
    {"num_threads", num_threads, METH_NOARGS, "How many threads a kernel may use, its caller included."},
    {}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "opbridge._core", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace opbridge

PyMODINIT_FUNC PyInit__core() {
  return opbridge::guarded([]() -> PyObject* {
    opbridge::Ref module = opbridge::Ref::checked(PyModule_Create(&opbridge::definition));
    opbridge::add_kernel_type(module.get());
    opbridge::add_numpy_op_type(module.get());
    opbridge::add_dispatcher_type(module.get());
    opbridge::add_rule_operator_type(module.get());
    opbridge::add_primitive_table_type(module.get());
    return module.release();
  });
}

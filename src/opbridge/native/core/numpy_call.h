// One call of an operator on NumPy arrays, from the arguments as Python passed them to the arrays it returns.
#ifndef OPBRIDGE_NATIVE_CORE_NUMPY_CALL_H
#define OPBRIDGE_NATIVE_CORE_NUMPY_CALL_H

#include <algorithm>
#include <vector>

#include "../invoke.h"
#include "../rule_vm.h"
#include "arrays.h"
#include "kept_objects.h"

namespace opbridge {

// Raises OpbridgeError if the bytes are not a plan.
OpPlan read_plan(const char* bytes, Py_ssize_t size, Py_ssize_t index);

// An operator, with what every call would otherwise work out again.
struct NumpyPlan {
  explicit NumpyPlan(OpPlan plan);

  OpPlan op;
  std::string full_name;
  std::vector<ob_arg> defaults;  // by argument; a missing tensor is an OB_ARG_NONE
  size_t positional = 0;         // how many arguments may be passed by position
  size_t new_outputs = 0;
  bool mutates = false;
  std::string out_name;  // `out`, with an underscore for each argument that has the name already

 private:
  ScratchArena memory_;  // of `defaults`
};

// One call on arrays, on the stack: it owns what it converts or allocates until the result is handed over.
class NumpyCall {
 public:
  NumpyCall(const NumpyPlan& plan, const Binding& kernel)
      : plan_(plan),
        kernel_(kernel),
        pass_strides_(std::find(kernel.strided.begin(), kernel.strided.end(), 1) != kernel.strided.end()) {}

  // `values`: an object for each argument, null where its default is meant.  `out`: what came as `out=`, or null.
  PyObject* run(PyObject* const* values, PyObject* out);

 private:
  // The array a kernel writes instead of the caller's, copied back when all went well.
  struct WriteBack {
    PyArrayObject* destination;
    PyArrayObject* copy;
  };
  // Which input the kernel writes to, counted as the kernel's parameters are.
  struct Mutable {
    size_t input;
    PyArrayObject* given;
  };
  // The form that an output must have, before it is allocated or taken from `out=`.
  struct Layout {
    int ndim;
    const npy_intp* shape;
    int code;
  };

  void read(PyObject* const* values);
  void read_tensors(const ArgPlan& arg, PyObject* value, bool strided);
  void read_list(const ArgPlan& arg, PyObject* value, bool strided);
  PyArrayObject* checked_array(const ArgPlan& arg, PyObject* value);
  void input(const ArgPlan& arg, PyArrayObject* given, bool strided);
  void missing_input();
  void check_overlap();

  void outputs(PyObject* out);
  Layout layout(const OutPlan& out, SmallShape<int64_t>& shape);
  Layout layout_from_kernel();
  PyArrayObject* allocated_output(const Layout& layout);
  PyArrayObject* given_output(const OutPlan& out, const Layout& layout, PyObject* target);
  bool needs_temporary(PyArrayObject* target);

  void add(PyArrayObject* array, int code);
  std::string run_kernel(const HostServices& services);
  int64_t elements();
  PyArrayObject* keep(Ref array);
  PyObject* result(PyObject* const* values);

  const std::string& name_of_input(size_t input);
  [[noreturn]] void fail(const std::string& message) const;
  [[noreturn]] void refuse_stranger(const ArgPlan& arg, PyObject* value);

  const NumpyPlan& plan_;
  const Binding& kernel_;
  const bool pass_strides_;
  Invocation invocation_;
  ScratchArena memory_;
  Small<PyArrayObject*, 8> given_;   // as the caller passed them, one for each input; null for a missing tensor
  Small<PyArrayObject*, 8> arrays_;  // as the kernel gets them, then the outputs
  Small<Mutable, 4> mutables_;
  Small<WriteBack, 4> write_backs_;
  Small<PyArrayObject*, 4> results_;  // the new outputs, kept or the caller's
  std::vector<AotKernel::Output> inferred_;
  KeptObjects kept_;
};

}  // namespace opbridge

#endif

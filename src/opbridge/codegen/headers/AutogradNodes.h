// What the generated nodes of the autograd graph share.
#ifndef OPBRIDGE_CODEGEN_AUTOGRAD_NODES_H
#define OPBRIDGE_CODEGEN_AUTOGRAD_NODES_H

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/VariableTypeUtils.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/version.h>

#include <mutex>
#include <optional>
#include <string>
#include <vector>

// Functions of Python, if the process has it.
extern "C" {
__attribute__((weak)) int PyGILState_Check();
__attribute__((weak)) void* PyEval_SaveThread();
__attribute__((weak)) void PyEval_RestoreThread(void* state);
}

namespace {

using torch::autograd::variable_list;

// One flag for each tensor among an operator's arguments.
using Wanted = ::std::vector<bool>;

// Nodes became intrusively counted in PyTorch 2.13.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 13)
template <class T>
using NodePtr = c10::intrusive_ptr<T>;

template <class T>
inline NodePtr<T> make_node() {
  return c10::make_intrusive<T>();
}
#else
template <class T>
using NodePtr = ::std::shared_ptr<T>;

template <class T>
inline NodePtr<T> make_node() {
  return NodePtr<T>(new T, torch::autograd::deleteNode);
}
#endif

// What the gradients of one call need, and how they are computed.
struct OperatorNode : torch::autograd::Node {
  // The gradient of every tensor among the arguments, in their order; undefined where it is not wanted.
  virtual variable_list gradients(const variable_list& grads, const Wanted& wanted) = 0;

  variable_list apply(variable_list&& grads) override {
    const ::std::lock_guard<::std::mutex> lock(mutex_);
    Wanted wanted;
    for (size_t i = 0; i < num_outputs(); ++i) wanted.push_back(task_should_compute_output(i));
    bool any = false;
    for (const auto& grad : grads) any |= grad.defined();
    if (!any) return variable_list(num_outputs());
    for (size_t i = 0; i < grads.size(); ++i) {
      if (!grads[i].defined()) grads[i] = input_metadata(i).zeros_like();
    }
    return gradients(grads, wanted);
  }

  void release_variables() override {
    const ::std::lock_guard<::std::mutex> lock(mutex_);
    for (auto& variable : kept_) variable.reset_data();
  }
  void will_release_variables() override { retain_variables = false; }

  bool retain_variables = true;

 protected:
  void keep(const at::Tensor& tensor, bool is_output = false, bool is_written_view = false) {
    kept_.emplace_back(tensor, is_output, is_written_view);
  }
  void keep(const ::std::optional<at::Tensor>& tensor, bool is_output = false) {
    keep(tensor.value_or(at::Tensor()), is_output);
  }
  template <class Tensors>
  size_t keep_all(const Tensors& tensors, bool is_output = false) {
    for (size_t i = 0; i < tensors.size(); ++i) keep(tensors[i], is_output);
    return tensors.size();
  }

  at::Tensor kept(size_t index) { return kept_[index].unpack(getptr()); }
  ::std::vector<at::Tensor> kept(size_t first, size_t count) {
    ::std::vector<at::Tensor> tensors;
    for (size_t i = first; i < first + count; ++i) tensors.push_back(kept(i));
    return tensors;
  }

 private:
  ::std::vector<torch::autograd::SavedVariable> kept_;
};

// A list that may be missing, of its own memory.
template <class T>
class OptionalList {
 public:
  OptionalList() = default;
  explicit OptionalList(c10::OptionalArrayRef<T> given) {
    if (given) values_ = given->vec();
  }
  c10::OptionalArrayRef<T> seen() const {
    return values_ ? c10::OptionalArrayRef<T>(*values_) : c10::OptionalArrayRef<T>();
  }

 private:
  ::std::optional<::std::vector<T>> values_;
};

inline bool any_of(const Wanted& wanted, size_t first, size_t count) {
  for (size_t i = first; i < first + count; ++i) {
    if (wanted[i]) return true;
  }
  return false;
}

inline void put(variable_list& gradients, size_t first, size_t count, at::TensorList found, const char* argument) {
  TORCH_CHECK(found.size() == count, "the derivative gives ", found.size(), " gradients for the ", count,
              " tensors of '", argument, "'");
  for (size_t i = 0; i < count; ++i) gradients[first + i] = found[i];
}

template <class Targets, class Values, size_t... index>
inline void take_each(Targets& targets, const Values& values, ::std::index_sequence<index...>) {
  ((::std::get<index>(targets) = ::std::get<index>(values)), ...);
}

// As many of the values as there are targets.
template <class... Targets, class... Values>
inline void take_first(::std::tuple<Targets...> targets, const ::std::tuple<Values...>& values) {
  static_assert(sizeof...(Values) >= sizeof...(Targets), "the formula gives fewer gradients than it is for");
  take_each(targets, values, ::std::index_sequence_for<Targets...>());
}

// Tensors one by one and in lists, as one list; what is not there is undefined.
inline void append(variable_list& all, const at::Tensor& tensor) { all.push_back(tensor); }
inline void append(variable_list& all, const ::std::optional<at::Tensor>& tensor) {
  all.push_back(tensor.value_or(at::Tensor()));
}
inline void append(variable_list& all, const at::ITensorListRef& tensors) {
  for (const auto& tensor : tensors) all.push_back(tensor);
}
inline void append(variable_list& all, const c10::List<::std::optional<at::Tensor>>& tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) append(all, tensors.get(i));
}

template <class... Tensors>
inline variable_list flat(const Tensors&... tensors) {
  variable_list all;
  (append(all, tensors), ...);
  return all;
}

inline bool differentiable(const at::Tensor& tensor) {
  return tensor.defined() && torch::autograd::isDifferentiableType(tensor.scalar_type());
}

// A result that takes part in the graph, if its dtype can.
template <class T>
inline void connect(const at::Tensor& result, const NodePtr<T>& node) {
  if (differentiable(result)) return torch::autograd::set_history(result, node);
  node->add_input_metadata(torch::autograd::Node::undefined_input());
}
template <class T>
inline void connect(const ::std::vector<at::Tensor>& results, const NodePtr<T>& node) {
  for (const auto& result : results) connect(result, node);
}

template <class T>
inline void connect_written(const at::Tensor& result, const NodePtr<T>& node) {
  if (differentiable(result)) return torch::autograd::rebase_history(result, node);
  node->add_input_metadata(torch::autograd::Node::undefined_input());
}

// Forward mode.

inline at::Tensor tangent(const at::Tensor& tensor) { return tensor.defined() ? tensor._fw_grad(0) : at::Tensor(); }

// Whether any tensor among arguments of every form carries a tangent.
struct FindTangent : torch::IterArgs<FindTangent> {
  bool found = false;
  using torch::IterArgs<FindTangent>::operator();
  void operator()(const at::Tensor& tensor) { found |= tangent(tensor).defined(); }
  void operator()(const ::std::optional<at::Tensor>& tensor) {
    if (tensor) (*this)(*tensor);
  }
  bool short_circuit() { return found; }
};

template <class... Tensors>
inline bool has_tangent(const Tensors&... tensors) {
  return FindTangent().apply(tensors...).found;
}

inline at::Tensor tangent_or_zeros(const at::Tensor& tensor) {
  const auto found = tangent(tensor);
  return found.defined() || !tensor.defined() ? found : at::zeros_like(tensor);
}
inline at::Tensor tangent_or_zeros(const ::std::optional<at::Tensor>& tensor) {
  return tangent_or_zeros(tensor.value_or(at::Tensor()));
}

inline at::Tensor primal(const at::Tensor& tensor) { return tangent(tensor).defined() ? tensor._fw_primal(0) : tensor; }
inline ::std::optional<at::Tensor> primal(const ::std::optional<at::Tensor>& tensor) {
  return tensor ? ::std::optional<at::Tensor>(primal(*tensor)) : tensor;
}
inline ::std::vector<at::Tensor> primal(const at::ITensorListRef& tensors) {
  ::std::vector<at::Tensor> primals;
  for (const auto& tensor : tensors) primals.push_back(primal(tensor));
  return primals;
}
inline c10::List<::std::optional<at::Tensor>> primal(const c10::List<::std::optional<at::Tensor>>& tensors) {
  c10::List<::std::optional<at::Tensor>> primals;
  for (size_t i = 0; i < tensors.size(); ++i) primals.push_back(primal(tensors.get(i)));
  return primals;
}

inline void set_tangent(const at::Tensor& result, const at::Tensor& value, bool is_written) {
  if (!value.defined()) return;
  // A tensor that is written to keeps the tangent it has: views of it share that tangent's memory.
  if (is_written && tangent(result).defined()) {
    tangent(result).copy_(value);
  } else {
    result._set_fw_grad(value, 0, is_written);
  }
}

// PyTorch's engine refuses to run under Python's lock, which torch.compile holds as it traces.
class WithoutPython {
 public:
  WithoutPython() : state_(PyGILState_Check != nullptr && PyGILState_Check() ? PyEval_SaveThread() : nullptr) {}
  ~WithoutPython() {
    if (state_ != nullptr) PyEval_RestoreThread(state_);
  }
  WithoutPython(const WithoutPython&) = delete;
  WithoutPython& operator=(const WithoutPython&) = delete;

 private:
  void* state_;
};

// The tangents of an operator's results from the formulas of its gradients.  These are linear in `grads`, so that their
// own derivative by `grads`, applied to the arguments' tangents, is the forward derivative.
inline variable_list tangents_by_gradients(OperatorNode& node, const variable_list& arguments,
                                           const variable_list& results) {
  bool record = c10::impl::tls_is_dispatch_key_included(c10::DispatchKey::FuncTorchDynamicLayerBackMode);
  Wanted wanted;
  for (const auto& argument : arguments) {
    wanted.push_back(tangent(argument).defined());
    record |= argument.defined() && (argument.requires_grad() || (wanted.back() && tangent(argument).requires_grad()));
  }
  record &= c10::GradMode::is_enabled();

  const at::AutoGradMode recording(true);
  variable_list probes, sources;
  for (const auto& result : results) {
    probes.push_back(at::zeros_like(result));
    if (differentiable(result)) sources.push_back(probes.back().requires_grad_());
  }
  const auto gradients = node.gradients(probes, wanted);
  variable_list values, directions;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!wanted[i] || !gradients[i].defined() || !gradients[i].requires_grad()) continue;
    directions.push_back(tangent(arguments[i]));
    values.push_back(at::sum_to(gradients[i], directions.back().sym_sizes()).to(directions.back().scalar_type()));
  }
  variable_list found(sources.size());
  if (!values.empty()) {
    const WithoutPython unlocked;
    found = torch::autograd::grad(values, sources, directions, /*retain_graph=*/true, /*create_graph=*/record,
                                  /*allow_unused=*/true);
  }
  variable_list tangents;
  size_t next = 0;
  for (const auto& probe : probes) {
    if (!probe.requires_grad()) {
      tangents.emplace_back();
      continue;
    }
    const auto& value = found[next++];
    tangents.push_back(!value.defined() ? at::zeros_like(probe).detach() : record ? value : value.detach());
  }
  return tangents;
}

// Functions that formulas of PyTorch's own dialect call, and that its libraries do not offer.

// A real tensor has a real gradient.
inline at::Tensor handle_r_to_c(at::ScalarType type, at::Tensor gradient) {
  return !at::isComplexType(type) && gradient.is_complex() ? at::real(gradient) : gradient;
}
inline at::Tensor handle_r_to_c(const at::Tensor& tensor, at::Tensor gradient) {
  return handle_r_to_c(tensor.scalar_type(), ::std::move(gradient));
}

inline at::Tensor maybe_multiply(const at::Tensor& tensor, const at::Scalar& factor) {
  return factor.equal(1) ? tensor : tensor * factor;
}

// The lower triangle with half of the diagonal.
inline at::Tensor lower_half(const at::Tensor& matrix) {
  return matrix.tril() - 0.5 * at::diag_embed(matrix.diagonal(0, -2, -1));
}

// The gradient of A = L L^H by A, which is Hermitian: L^-H half(L^H gL) L^-1, made Hermitian.
inline at::Tensor cholesky_backward(const at::Tensor& gradient, bool upper, const at::Tensor& factor) {
  const auto lower = upper ? factor.mH() : factor;
  const auto half = lower_half(at::matmul(lower.mH(), upper ? gradient.mH() : gradient));
  const auto left = at::linalg_solve_triangular(lower.mH(), half + half.mH(), /*upper=*/true);
  return 0.5 * at::linalg_solve_triangular(lower, left, /*upper=*/false, /*left=*/false);
}
inline at::Tensor cholesky_jvp(const at::Tensor& tangent, const at::Tensor& factor, bool upper) {
  const auto lower = upper ? factor.mH() : factor;
  const auto left = at::linalg_solve_triangular(lower, tangent, /*upper=*/false);
  const auto both = at::linalg_solve_triangular(lower.mH(), left, /*upper=*/true, /*left=*/false);
  const auto moved = at::matmul(lower, lower_half(both));
  return upper ? moved.mH() : moved;
}

[[noreturn]] inline at::Tensor not_implemented(const char* name, const char* reason = "") {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "the derivative for '", name, "' is not implemented. ", reason);
}

// The answer of an argument that has no formula.
template <class T = at::Tensor>
[[noreturn]] inline T no_derivative(const char* message) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, message);
}

// A bare number among tensors, which does not raise their dtype.
inline at::Tensor number(const at::Scalar& value) {
  auto made = at::scalar_tensor(value);
  made.unsafeGetTensorImpl()->set_wrapped_number(true);
  return made;
}

// One of several results.
template <size_t index>
inline at::Tensor part(const at::Tensor& tensor) {
  return tensor.select(0, index);
}
template <size_t index>
inline at::Tensor part(const ::std::vector<at::Tensor>& tensors) {
  return tensors.at(index);
}
template <size_t index, class... Parts>
inline at::Tensor part(const ::std::tuple<Parts...>& parts) {
  return ::std::get<index>(parts);
}

inline at::Tensor sum_to(const at::Tensor& tensor, c10::SymIntArrayRef sizes) { return at::sum_to(tensor, sizes); }

}  // namespace

#endif

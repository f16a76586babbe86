// Functions from tensors to tensors, and their derivatives of any order by PyTorch's autograd.
#ifndef OPBRIDGE_NATIVE_TORCH_TENSOR_FUNCTION_H
#define OPBRIDGE_NATIVE_TORCH_TENSOR_FUNCTION_H

#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/autograd/autograd.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <utility>

#include "aten_binding.h"
#include "rerun.h"

namespace opbridge::torch_adapter {

using Tensors = std::vector<at::Tensor>;

// A function of tensors alone, pure as its callers see it; any thread may run it, several at a time.
class TensorFunction {
 public:
  TensorFunction(std::string name, std::vector<at::ScalarType> inputs)
      : name_(std::move(name)), inputs_(std::move(inputs)) {}
  virtual ~TensorFunction() = default;
  TensorFunction(const TensorFunction&) = delete;
  TensorFunction& operator=(const TensorFunction&) = delete;

  // For messages.
  const std::string& name() const { return name_; }
  const std::vector<at::ScalarType>& inputs() const { return inputs_; }

  virtual Tensors operator()(const Tensors& inputs) const = 0;

  // What the results are like, for inputs without values (on the meta device).
  virtual Tensors like(const Tensors& inputs) const { return (*this)(inputs); }

  // Writes to `outputs`, which have the right shapes and types.
  virtual void into(const Tensors& inputs, const Tensors& outputs) const {
    const Tensors results = (*this)(inputs);
    TORCH_CHECK(results.size() == outputs.size(), "it returned ", results.size(), " tensors where ", outputs.size(),
                " were expected");
    for (size_t i = 0; i < results.size(); ++i) {
      TORCH_CHECK(results[i].sizes() == outputs[i].sizes(), "it returned a tensor of shape ", results[i].sizes(),
                  " where ", outputs[i].sizes(), " was expected");
      outputs[i].copy_(results[i]);
    }
  }

 private:
  const std::string name_;
  const std::vector<at::ScalarType> inputs_;
};

// Where an argument of an operator comes from.
struct Source {
  // Which of the members below is meant.
  enum class Kind { Fixed, Tensor, List };
  Kind kind = Kind::Fixed;
  c10::IValue fixed;
  std::vector<int64_t> inputs;  // places among the inputs; kAbsent in a list for None

  static constexpr int64_t kAbsent = -1;
};

// An operator with everything but its tensors fixed, without side effects: what it would write to, it copies and
// returns, after its results where it is none of them.
class Operator final : public TensorFunction {
 public:
  Operator(Overload overload, std::optional<c10::OperatorHandle> out, std::vector<Source> sources,
           std::vector<at::ScalarType> inputs)
      : TensorFunction(overload.name, std::move(inputs)),
        overload_(std::move(overload)),
        out_(std::move(out)),
        sources_(std::move(sources)) {
    // Where PyTorch composes the variant from others it saves no copy, and is not always right (fft.ihfftn); and it has
    // no place for what else is written to.
    const bool writes = overload_.schema().is_mutable();
    if (out_ && (writes || !out_->hasKernelForDispatchKey(c10::DispatchKey::CPU))) out_.reset();
  }

  Tensors operator()(const Tensors& inputs) const override {
    Tensors written;
    Stack stack = arguments(inputs, written);
    overload_.handle.callBoxed(stack);
    Tensors results;
    for (c10::IValue& value : stack) collect(std::move(value), results);
    for (const at::Tensor& tensor : written) {
      const auto same = [&](const at::Tensor& result) { return result.is_same(tensor); };
      if (std::none_of(results.begin(), results.end(), same)) results.push_back(tensor);
    }
    return results;
  }

  Tensors like(const Tensors& inputs) const override {
    if (meta_is_right()) return (*this)(inputs);
    Tensors zeros;
    for (const at::Tensor& input : inputs) zeros.push_back(at::zeros(input.sizes(), input.options().device(at::kCPU)));
    return (*this)(zeros);
  }

  void into(const Tensors& inputs, const Tensors& outputs) const override {
    if (out_ && !writes_elsewhere_ && written_by_variant(inputs, outputs)) return;
    TensorFunction::into(inputs, outputs);
  }

 private:
  // Some variants want to resize what they are given, for something in between: they warn, then they fail.  Wrong
  // inputs fail once more without the variant, which warns and says why.
  bool written_by_variant(const Tensors& inputs, const Tensors& outputs) const {
    // Swallows the warnings of an attempt, and remembers that there were any.
    struct Heard final : c10::WarningHandler {
      void process(const c10::Warning&) override { any = true; }
      bool any = false;
    } warnings;
    Tensors written;
    Stack stack = arguments(inputs, written);
    // Aliases, since a variant may give what it takes another shape before it fails.
    for (const at::Tensor& output : outputs) stack.emplace_back(output.alias());
    try {
      const c10::WarningUtils::WarningHandlerGuard listening(&warnings);
      out_->callBoxed(stack);
    } catch (const c10::Error&) {
      writes_elsewhere_ = warnings.any;
      return false;
    }
    writes_elsewhere_ = warnings.any;
    return !warnings.any;
  }

  // The kernels of these operators omit results that the meta kernel has.
  bool meta_is_right() const {
    const std::string& name = overload_.handle.operator_name().name;
    return name != "aten::native_batch_norm" && name != "aten::_native_batch_norm_legit" &&
           name.find("embedding_bag") == std::string::npos;
  }

  Stack arguments(const Tensors& inputs, Tensors& written) const {
    Stack stack;
    const bool meta = !inputs.empty() && inputs[0].is_meta();
    for (size_t i = 0; i < sources_.size(); ++i) {
      const c10::Argument& argument = overload_.schema().arguments()[i];
      const bool writes = argument.alias_info() && argument.alias_info()->isWrite();
      const auto taken = [&](int64_t place) {
        if (!writes) return inputs[static_cast<size_t>(place)];
        const Rerun::Unseen copying;
        written.push_back(inputs[static_cast<size_t>(place)].clone());
        return written.back();
      };
      const Source& source = sources_[i];
      switch (source.kind) {
        case Source::Kind::Fixed:
          stack.push_back(meta && source.fixed.isDevice() ? c10::IValue(at::Device(at::kMeta)) : source.fixed);
          break;
        case Source::Kind::Tensor:
          stack.emplace_back(taken(source.inputs[0]));
          break;
        case Source::Kind::List:
          stack.push_back(list(argument, source, taken));
      }
    }
    return stack;
  }

  template <class Taken>
  static c10::IValue list(const c10::Argument& argument, const Source& source, Taken&& taken) {
    const c10::Type* type = argument.type().get();
    if (type->kind() == c10::TypeKind::OptionalType) type = type->containedType(0).get();
    if (type->containedType(0)->kind() != c10::TypeKind::OptionalType) {
      Tensors items;
      for (const int64_t place : source.inputs) items.push_back(taken(place));
      return items;
    }
    c10::List<std::optional<at::Tensor>> items;
    for (const int64_t place : source.inputs)
      items.push_back(place == Source::kAbsent ? std::nullopt : std::optional<at::Tensor>(taken(place)));
    return items;
  }

  static void collect(c10::IValue&& value, Tensors& results) {
    if (value.isTensor()) {
      at::Tensor tensor = std::move(value).toTensor();
      results.push_back(tensor.defined() ? std::move(tensor) : at::empty({0}));
    } else if (value.isTensorList()) {
      for (at::Tensor& tensor : value.toTensorVector()) results.push_back(std::move(tensor));
    } else if (value.isList()) {
      for (const c10::IValue& item : value.toListRef()) collect(c10::IValue(item), results);
    } else {
      results.push_back(at::scalar_to_tensor(value.toScalar()));
    }
  }

  const Overload overload_;
  std::optional<c10::OperatorHandle> out_;
  mutable std::atomic<bool> writes_elsewhere_ = false;
  const std::vector<Source> sources_;
};

// Everything that draws from PyTorch's generator under MindSpore takes turns, so that what is drawn can be drawn again.
inline std::mutex& draws() {
  static std::mutex mutex;
  return mutex;
}

inline at::Tensor generator_state() { return at::detail::getDefaultCPUGenerator().get_state(); }

// A random function, with one more output: the generator's state before the draw.
class Drawn final : public TensorFunction {
 public:
  explicit Drawn(std::shared_ptr<const TensorFunction> function)
      : TensorFunction(function->name(), function->inputs()), function_(std::move(function)) {}

  Tensors operator()(const Tensors& inputs) const override {
    const std::lock_guard lock(draws());
    at::Tensor state = generator_state();
    return with((*function_)(inputs), std::move(state));
  }

  Tensors like(const Tensors& inputs) const override { return with(function_->like(inputs), generator_state()); }

  const std::shared_ptr<const TensorFunction>& function() const { return function_; }

 private:
  static Tensors with(Tensors results, at::Tensor state) {
    results.push_back(std::move(state));
    return results;
  }

  const std::shared_ptr<const TensorFunction> function_;
};

// The same draw once more: one more input, the generator's state.
class Redrawn final : public TensorFunction {
 public:
  explicit Redrawn(const Drawn& drawn)
      : TensorFunction(drawn.name(), with_state(drawn.inputs())), function_(drawn.function()) {}

  Tensors operator()(const Tensors& inputs) const override {
    const std::lock_guard lock(draws());
    const struct Restored {
      at::Generator generator = at::detail::getDefaultCPUGenerator();
      at::Tensor state = generator_state();
      ~Restored() { generator.set_state(state); }
    } restored;
    at::Generator(restored.generator).set_state(inputs.back());
    Tensors results = (*function_)(Tensors(inputs.begin(), inputs.end() - 1));
    results.push_back(inputs.back());
    return results;
  }

 private:
  static std::vector<at::ScalarType> with_state(std::vector<at::ScalarType> inputs) {
    inputs.push_back(at::kByte);
    return inputs;
  }

  const std::shared_ptr<const TensorFunction> function_;
};

// The gradients of all inputs, from the inputs, the outputs where they are known, and the gradients of these: zeros
// where there is none.
class Vjp final : public TensorFunction {
 public:
  using Types = std::vector<at::ScalarType>;

  // `known`: the types of the outputs, if they are given; `gradients`: those of their gradients.
  Vjp(std::shared_ptr<const TensorFunction> function, const Types& known, const Types& gradients)
      : TensorFunction("the gradient of " + function->name(), joined(joined(function->inputs(), known), gradients)),
        function_(std::move(function)),
        count_(static_cast<std::ptrdiff_t>(function_->inputs().size())),
        known_(static_cast<std::ptrdiff_t>(known.size())),
        is_first_(!known.empty()) {}

  Tensors like(const Tensors& inputs) const override { return Tensors(inputs.begin(), inputs.begin() + count_); }

  Tensors operator()(const Tensors& inputs) const override {
    const bool differentiated_again = at::GradMode::is_enabled();
    const at::AutoGradMode enabled(true);
    const auto known = inputs.begin() + count_, gradients = known + known_;
    Tensors leaves;
    const Tensors outputs = forward(Tensors(inputs.begin(), known), Tensors(known, gradients), leaves);
    Tensors roots, given;
    for (size_t i = 0; i < outputs.size() && gradients + static_cast<std::ptrdiff_t>(i) != inputs.end(); ++i) {
      if (!outputs[i].requires_grad()) continue;
      roots.push_back(outputs[i]);
      given.push_back(gradients[static_cast<std::ptrdiff_t>(i)]);
    }
    Tensors wanted, found;
    for (const at::Tensor& tensor : leaves)
      if (tensor.requires_grad()) wanted.push_back(tensor);
    if (!roots.empty()) found = torch::autograd::grad(roots, wanted, given, std::nullopt, differentiated_again, true);
    Tensors results;
    auto next = found.begin();
    for (size_t i = 0; i < leaves.size(); ++i) {
      at::Tensor gradient;
      if (leaves[i].requires_grad() && next != found.end()) gradient = *next++;
      results.push_back(gradient.defined() ? std::move(gradient) : at::zeros_like(inputs[i]));
    }
    return results;
  }

 private:
  Tensors forward(const Tensors& inputs, const Tensors& known, Tensors& leaves) const {
    std::vector<char> asked = asked_of();
    if (asked.empty()) {
      asked.assign(inputs.size(), 1);
      leaves = leaves_of(inputs, asked);
      try {
        return rerun(leaves, known);
      } catch (const c10::Error& error) {
        if (!refuses_gradient(error)) throw;
      }
      // PyTorch refuses to run an operator where an argument wants a gradient that it does not have; it names the
      // argument of an operator deep inside, so each is tried.
      for (size_t i = 0; i < inputs.size(); ++i) asked[i] = takes_gradient(inputs, i);
      const std::lock_guard lock(mutex_);
      asked_ = asked;
    }
    leaves = leaves_of(inputs, asked);
    return rerun(leaves, known);
  }

  // The first run computes, and sees whether the next ones need to.
  Tensors rerun(const Tensors& leaves, const Tensors& known) const {
    const auto [is_first, computing] = noted();
    if (!(is_first || computing) || !Rerun::is_possible()) return (*function_)(leaves);
    try {
      Rerun run(known, computing);
      Tensors results = (*function_)(leaves);
      auto behind = run.one_behind(results);
      const bool as_noted = is_first || behind == computing;
      note(std::move(behind));
      if (as_noted) return results;
    } catch (const c10::Error&) {
      if (!computing) throw;
      note(std::nullopt);
    }
    // Other sizes may go another way, in which what was replaced is something else.
    return (*function_)(leaves);
  }

  std::pair<bool, std::optional<c10::OperatorName>> noted() const {
    const std::lock_guard lock(mutex_);
    return {is_first_, computing_};
  }

  void note(std::optional<c10::OperatorName> computing) const {
    const std::lock_guard lock(mutex_);
    is_first_ = false;
    computing_ = std::move(computing);
  }

  bool takes_gradient(const Tensors& inputs, size_t i) const try {
    std::vector<char> alone(inputs.size());
    alone[i] = 1;
    (*function_)(leaves_of(inputs, alone));
    return true;
  } catch (const c10::Error& error) {
    if (!refuses_gradient(error)) throw;
    return false;
  }

  static bool refuses_gradient(const c10::Error& error) {
    return std::string(error.what_without_backtrace()).find("is not differentiable with respect to argument") !=
           std::string::npos;
  }

  std::vector<char> asked_of() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

  static Tensors leaves_of(const Tensors& inputs, const std::vector<char>& asked) {
    Tensors leaves;
    for (size_t i = 0; i < inputs.size(); ++i) leaves.push_back(asked[i] ? leaf(inputs[i]) : inputs[i].detach());
    return leaves;
  }

  // What a derivative of this one asks about stays the tensor it is.
  static at::Tensor leaf(const at::Tensor& tensor) {
    if (!differentiable_type(tensor) || tensor.requires_grad()) return tensor;
    return tensor.detach().requires_grad_();
  }

  static Types joined(Types a, const Types& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }

  const std::shared_ptr<const TensorFunction> function_;
  const std::ptrdiff_t count_;  // of inputs that are the function's
  const std::ptrdiff_t known_;  // of inputs that are its outputs
  mutable std::mutex mutex_;
  mutable std::vector<char> asked_;                     // which inputs take a gradient, where not all do
  mutable bool is_first_;                               // whether what computes is still to be seen
  mutable std::optional<c10::OperatorName> computing_;  // what is not called again
};

}  // namespace opbridge::torch_adapter

#endif

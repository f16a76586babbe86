// Runs an operator under autograd once more, whose results are there already.
#ifndef OPBRIDGE_NATIVE_TORCH_RERUN_H
#define OPBRIDGE_NATIVE_TORCH_RERUN_H

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace opbridge::torch_adapter {

// Stands between autograd and the kernels; it is PyTorch's for tensors without values, and where it has a fallback of
// its own for these, nothing is replaced.
inline constexpr c10::DispatchKey kBehindAutograd = c10::DispatchKey::Fake;

// While it lives, what autograd calls on this thread is noted, or replaced by results that are known.  Most operators
// come down to one that computes, with views around it; of others nothing is replaced.
class Rerun {
 public:
  using Tensors = std::vector<at::Tensor>;

  // `computing`, where given, is not called: `known` is what it would return.
  Rerun(const Tensors& known, std::optional<c10::OperatorName> computing)
      : known_(known), computing_(std::move(computing)), outer_(current()), behind_autograd_(kBehindAutograd) {
    current() = this;
  }
  ~Rerun() { current() = outer_; }
  Rerun(const Rerun&) = delete;
  Rerun& operator=(const Rerun&) = delete;

  // While it lives, nothing is noted.
  struct Unseen {
    c10::impl::ExcludeDispatchKeyGuard guard{kBehindAutograd};
  };

  // The one operator that computed, if these begin with its results.
  std::optional<c10::OperatorName> one_behind(const Tensors& results) const {
    const bool same = !results_.empty() && results_.size() <= results.size() &&
                      std::equal(results_.begin(), results_.end(), results.begin(),
                                 [](const at::Tensor& a, const at::Tensor& b) { return a.is_same(b); });
    return calls_ == 1 && same ? name_ : std::nullopt;
  }

  // Returns false if another library uses the key.
  static bool is_possible() {
    static const bool registered = [] {
      try {
        // Until the process ends: PyTorch may be gone before what would be destroyed then.
        static auto* fallback = new c10::RegistrationHandleRAII(c10::Dispatcher::singleton().registerFallback(
            kBehindAutograd, c10::KernelFunction::makeFromBoxedFunction<&Rerun::behind_autograd>(), "opbridge"));
        return fallback != nullptr;
      } catch (const c10::Error&) {
        return false;
      }
    }();
    return registered;
  }

 private:
  static Rerun*& current() {
    thread_local Rerun* innermost = nullptr;
    return innermost;
  }

  static void behind_autograd(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    Rerun* rerun = is_view(op) ? nullptr : current();
    // What a kernel calls is a part of it.
    const Unseen within;
    if (rerun && rerun->replaces(op)) {
      torch::jit::drop(*stack, op.schema().arguments().size());
      for (size_t i = 0; i < op.schema().returns().size(); ++i) rerun->results_.push_back(rerun->known_[i].detach());
      stack->insert(stack->end(), rerun->results_.begin(), rerun->results_.end());
    } else {
      op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kBehindAutograd), stack);
      if (rerun) rerun->note(*stack);
    }
    if (rerun) rerun->name_ = op.operator_name(), ++rerun->calls_;
  }

  bool replaces(const c10::OperatorHandle& op) const {
    return calls_ == 0 && computing_ == op.operator_name() && op.schema().returns().size() <= known_.size();
  }

  void note(const torch::jit::Stack& returned) {
    results_.clear();
    for (const c10::IValue& value : returned) results_.push_back(value.isTensor() ? value.toTensor() : at::Tensor());
  }

  static bool is_view(const c10::OperatorHandle& op) {
    const auto& returns = op.schema().returns();
    return !op.schema().is_mutable() &&
           std::all_of(returns.begin(), returns.end(), [](const c10::Argument& each) { return each.alias_info(); });
  }

  const Tensors& known_;
  const std::optional<c10::OperatorName> computing_;
  Rerun* const outer_;
  const c10::impl::IncludeDispatchKeyGuard behind_autograd_;
  size_t calls_ = 0;
  std::optional<c10::OperatorName> name_;
  Tensors results_;  // of the last that computed
};

}  // namespace opbridge::torch_adapter

#endif

// torch.func.vmap and autocast.
#ifndef OPBRIDGE_NATIVE_TORCH_TRANSFORMS_H
#define OPBRIDGE_NATIVE_TORCH_TRANSFORMS_H

#include <ATen/autocast_mode.h>
#include <ATen/functorch/BatchedTensorImpl.h>
#include <ATen/ops/stack.h>

#include <algorithm>

#include "entry.h"

namespace opbridge::torch_adapter {

// A tensor as this level of vmap sees it.
struct Batched {
  at::Tensor value;
  std::optional<int64_t> dim;

  int64_t rank() const { return value.dim() - (dim ? 1 : 0); }
};

// One call under vmap, with its arguments still on the stack; it takes them off when it has its results.
class BatchRule {
 public:
  BatchRule(const Definition& definition, const c10::OperatorHandle& op, Stack* stack)
      : definition_(definition), op_(op), stack_(stack), first_(stack->size() - definition.plan.args.size()) {}

  void run() {
    const c10::impl::ExcludeDispatchKeyGuard guard(c10::DispatchKey::FuncTorchBatched);
    // The innermost batch any argument carries; outer ones are met again below.  (The stack of transforms knows it
    // too, but its header includes a library that PyTorch does not ship.)
    for (size_t i = 0; i < count(); ++i)
      each_tensor(argument(i), [&](const at::Tensor& t) {
        if (const auto* batched = at::functorch::maybeGetBatchedImpl(t)) level_ = std::max(level_, batched->level());
      });
    for (size_t i = 0; i < count(); ++i)
      each_tensor(argument(i), [&](const at::Tensor& t) {
        const Batched b = look(t);
        if (b.dim) size_ = b.value.sym_size(*b.dim);
      });
    refuse_unbatched_writes();
    if (at_once())
      whole();
    else
      loop();
  }

 private:
  size_t count() const { return definition_.plan.args.size(); }
  c10::IValue& argument(size_t i) { return (*stack_)[first_ + i]; }

  Batched look(const at::Tensor& t) const {
    const auto* batched = at::functorch::maybeGetBatchedImpl(t);
    if (!batched || batched->level() != level_) return {t, std::nullopt};
    return {batched->value(), batched->bdim()};
  }

  // How many dimensions a sample of an argument has at least; none where the argument takes no batch.
  std::optional<int64_t> least_rank(size_t i) const {
    const OpPlan& plan = definition_.plan;
    for (size_t k = 0; k < plan.batched_args.size(); ++k)
      if (static_cast<size_t>(plan.batched_args[k]) == i) return plan.batched_ranks[k];
    return std::nullopt;
  }

  // Whether one call over the tensors with a leading batch dimension means the same as a call for each slice: never
  // where a sample lacks dimensions that the rule names, because the batch would take their place.  batches.py has the
  // same in Python.
  bool at_once() {
    if (definition_.plan.batch == Batch::Loop) return false;
    bool fits = true, equal = true;
    std::optional<int64_t> extra;
    for (size_t i = 0; i < count(); ++i) {
      const std::optional<int64_t> least = least_rank(i);
      each_tensor(argument(i), [&](const at::Tensor& t) {
        const Batched b = look(t);
        if (!least) {
          fits &= !b.dim;
          return;
        }
        equal &= !extra || *extra == b.rank() - *least;
        extra = std::max(extra.value_or(b.rank() - *least), b.rank() - *least);
      });
    }
    extra_ = extra.value_or(-1);
    return fits && extra_ >= 0 && (equal || definition_.plan.batch_broadcasts);
  }

  void refuse_unbatched_writes() {
    for (size_t i = 0; i < count(); ++i)
      if (definition_.plan.args[i].has(kMutable))
        each_tensor(argument(i), [&](const at::Tensor& t) {
          if (!look(t).dim)
            throw Failure(unsupported_error, definition_.full_name + ": vmap cannot write a batch into '" +
                                                 definition_.plan.args[i].name +
                                                 "', which has no batch dimension; batch it too (in_dims)");
        });
  }

  at::Tensor lead(const at::Tensor& t, int64_t least) const {
    const Batched b = look(t);
    at::Tensor value = b.dim ? b.value.movedim(*b.dim, 0) : b.value.unsqueeze(0);
    for (int64_t extra = b.rank() - least; extra < extra_; ++extra) value = value.unsqueeze(1);
    if (b.dim) return value;
    std::vector<c10::SymInt> sizes = value.sym_sizes().vec();
    sizes[0] = size_;
    return value.expand_symint(sizes);
  }

  void whole() {
    const OpPlan& plan = definition_.plan;
    const std::vector<c10::IValue> given(stack_->begin() + static_cast<std::ptrdiff_t>(first_), stack_->end());
    for (size_t i = 0; i < count(); ++i) {
      const std::optional<int64_t> least = least_rank(i);
      argument(i) =
          map_tensors(argument(i), [&](const at::Tensor& t) { return least ? lead(t, *least) : look(t).value; });
    }
    op_.callBoxed(stack_);
    for (size_t i = 0; i < plan.outs.size(); ++i) {
      c10::IValue& result = (*stack_)[first_ + i];
      if (plan.outs[i].alias_arg >= 0)
        result = given[plan.outs[i].alias_arg];
      else
        result = at::functorch::makeBatched(result.toTensor(), 0, level_);
    }
  }

  void loop() {
    const OpPlan& plan = definition_.plan;
    if (!plan.batch_declared && !definition_.warned_of_loop.exchange(true))
      TORCH_WARN(definition_.full_name,
                 " has no `batch` rule that covers this call: vmap runs it once for each of the ", size_,
                 " slices. Say `batch: elementwise` or a pattern such as `... h, h -> ... h` to make it one call, or "
                 "`batch: loop` to accept it.");
    const std::vector<c10::IValue> given(stack_->begin() + static_cast<std::ptrdiff_t>(first_), stack_->end());
    stack_->resize(first_);
    const int64_t n = size_.guard_int(__FILE__, __LINE__);
    std::vector<std::vector<at::Tensor>> slices(plan.outs.size());
    if (n == 0)
      throw Failure(unsupported_error,
                    definition_.full_name + ": vmap over zero slices needs a `batch` rule other than loop");
    for (int64_t k = 0; k < n; ++k) {
      Stack one;
      for (const c10::IValue& value : given)
        one.push_back(map_tensors(value, [&](const at::Tensor& t) {
          const Batched b = look(t);
          return b.dim ? b.value.select(*b.dim, k) : b.value;
        }));
      op_.callBoxed(&one);
      for (size_t i = 0; i < one.size(); ++i) slices[i].push_back(one[i].toTensor());
    }
    for (size_t i = 0; i < plan.outs.size(); ++i) {
      if (plan.outs[i].alias_arg >= 0)
        stack_->push_back(given[plan.outs[i].alias_arg]);
      else
        stack_->push_back(at::functorch::makeBatched(at::stack(slices[i]), 0, level_));
    }
  }

  const Definition& definition_;
  const c10::OperatorHandle& op_;
  Stack* stack_;
  size_t first_;
  int64_t level_ = 0;
  int64_t extra_ = 0;  // the dimensions of a sample beyond those that the rule names
  c10::SymInt size_;
};

// Under autocast, floating tensors of mixed dtypes go to the widest among them, as PyTorch's promoting operators do;
// an operator that is called with one dtype keeps it.
inline void run_autocast(const Definition& definition, const c10::OperatorHandle& op, Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard guard(c10::autocast_dispatch_keyset);
  const size_t first = stack->size() - definition.plan.args.size();
  std::optional<at::ScalarType> widest;
  bool mixed = false;
  for (size_t i = 0; i < definition.plan.args.size(); ++i)
    each_tensor((*stack)[first + i], [&](const at::Tensor& t) {
      if (!t.is_floating_point() || t.scalar_type() == at::kDouble) return;
      mixed |= widest && *widest != t.scalar_type();
      widest = widest ? at::promoteTypes(*widest, t.scalar_type()) : t.scalar_type();
    });
  if (mixed)
    for (size_t i = 0; i < definition.plan.args.size(); ++i)
      if (!definition.plan.args[i].has(kMutable))
        (*stack)[first + i] = map_tensors((*stack)[first + i], [&](const at::Tensor& t) {
          return t.is_floating_point() && t.scalar_type() != at::kDouble ? t.to(*widest) : t;
        });
  op.callBoxed(stack);
}

}  // namespace opbridge::torch_adapter

#endif

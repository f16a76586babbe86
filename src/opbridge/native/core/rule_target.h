// An operator with rules and a kernel, as MindSpore and XLA call it.
#ifndef OPBRIDGE_NATIVE_CORE_RULE_TARGET_H
#define OPBRIDGE_NATIVE_CORE_RULE_TARGET_H

#include <memory>
#include <string>
#include <vector>

#include "../invoke.h"
#include "../target.h"
#include "numpy_call.h"

namespace opbridge {

// What is fixed about one tensor of a call; the tensors of a list have one each.
struct TensorSlot {
  int32_t dtype = -1;
  int64_t input = -1;  // its place among the tensors that are present; -1 where it is absent
  bool written = false;
};

// The arguments of a call but for the sizes and contents of tensors.
struct FixedArguments {
  std::vector<ob_arg> args;      // of the whole schema
  std::vector<int64_t> storage;  // of the lists and strings in them
  std::vector<TensorSlot> slots;
};

// A Target that infers its outputs from `out` rules and runs an opbridge kernel.  It is immutable.
class RuleTarget final : public Target {
 public:
  using Shape = std::vector<int64_t>;

  RuleTarget(std::shared_ptr<const NumpyPlan> plan, Binding kernel, FixedArguments fixed, int32_t device_type);

  std::vector<Output> infer(const std::vector<Shape>& inputs) override;
  void run(int nparam, void** params, const int* ndims, int64_t* const* shapes, const char* const* dtypes,
           void* stream) override;

 private:
  // Where every size is known.
  std::vector<Output> outputs(const std::vector<Shape>& inputs) const;
  std::vector<Output> outputs_from_kernel(const std::vector<Shape>& inputs) const;
  std::vector<Output> outputs_of_unknown_shape(const std::vector<Shape>& inputs) const;

  // The kernel gets a copy of each tensor it writes to, and this copy is an output: the framework's values do not
  // change.
  std::vector<Output> written(const std::vector<Shape>& inputs) const;

  template <class Evaluate>
  auto evaluate(const std::vector<Shape>& inputs, Evaluate evaluate) const;
  Shape shape_of(const OutPlan& out, const std::vector<Shape>& inputs) const;
  int32_t dtype_of(const OutPlan& out, const std::vector<Shape>& inputs) const;
  int32_t output_type(const char* name) const;
  void fill(Invocation& call, const std::vector<Shape>& inputs) const;

  void check_type(size_t input, const char* got, int32_t expected) const;
  [[noreturn]] void fail(const std::string& message) const;

  const std::shared_ptr<const NumpyPlan> plan_;
  const Binding kernel_;
  const FixedArguments fixed_;
  const int32_t device_type_;
  const size_t written_;  // how many inputs the kernel writes to
  const bool pass_strides_;
};

}  // namespace opbridge

#endif

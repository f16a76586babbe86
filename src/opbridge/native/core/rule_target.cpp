#include "rule_target.h"

#include <opbridge/unwritten.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "../rule_arguments.h"
#include "../unknown_sizes.h"
#include "host.h"

namespace opbridge {
namespace {

using Shape = RuleTarget::Shape;

// Tensors of which only shapes are known, as the rules ask for them.
struct ShapedTensors {
  const std::vector<TensorSlot>& slots;
  const std::vector<Shape>& shapes;

  const TensorSlot& slot(int64_t i) const { return slots[static_cast<size_t>(i)]; }
  const Shape& shape(int64_t i) const { return shapes[static_cast<size_t>(slot(i).input)]; }

  bool present(int64_t i) const { return slot(i).input >= 0; }
  int64_t rank(int64_t i) const { return static_cast<int64_t>(shape(i).size()); }
  int64_t dim(int64_t i, int64_t k) const { return shape(i)[static_cast<size_t>(k)]; }
  int dtype(int64_t i) const { return slot(i).dtype; }
};

size_t present(const std::vector<TensorSlot>& slots) {
  return static_cast<size_t>(std::count_if(slots.begin(), slots.end(), [](auto& slot) { return slot.input >= 0; }));
}

size_t bytes_of(int ndim, const int64_t* shape, int32_t dtype) {
  size_t bytes = element_bytes(dtype);
  for (int k = 0; k < ndim; ++k) bytes *= static_cast<size_t>(shape[k]);
  return bytes;
}

// MindSpore says "bool" or "bool_", and every other type as we do.
int32_t dtype_named(const char* name) {
  if (std::strcmp(name, "bool_") == 0) return OB_bool;
  for (int32_t code = 0; code < OB_DTYPE_COUNT; ++code)
    if (std::strcmp(name, dtype_name(code)) == 0) return code;
  throw std::runtime_error(std::string("kernels do not take elements of type ") + name);
}

int64_t* contiguous_strides(int ndim, const int64_t* shape, ScratchArena& memory) {
  auto* strides = static_cast<int64_t*>(memory.take(sizeof(int64_t) * static_cast<size_t>(ndim)));
  if (!strides) throw std::bad_alloc();
  int64_t step = 1;
  for (int k = ndim; k-- > 0; step *= shape[k]) strides[k] = step;
  return strides;
}

}  // namespace

RuleTarget::RuleTarget(std::shared_ptr<const NumpyPlan> plan, Binding kernel, FixedArguments fixed, int32_t device_type)
    : Target(present(fixed.slots)),
      plan_(std::move(plan)),
      kernel_(std::move(kernel)),
      fixed_(std::move(fixed)),
      device_type_(device_type),
      written_(static_cast<size_t>(
          std::count_if(fixed_.slots.begin(), fixed_.slots.end(), [](auto& slot) { return slot.written; }))),
      pass_strides_(std::find(kernel_.strided.begin(), kernel_.strided.end(), 1) != kernel_.strided.end()) {}

std::vector<Target::Output> RuleTarget::infer(const std::vector<Shape>& inputs) {
  if (plan_->op.outputs_from_kernel()) return outputs_from_kernel(inputs);
  if (all_known(inputs)) return outputs(inputs);
  try {
    return infer_unknown(inputs, [this](const std::vector<Shape>& known) { return outputs(known); });
  } catch (const std::exception&) {
    // The sizes tried may be such as this operator never meets; those it does meet are checked when it runs.
    return outputs_of_unknown_shape(inputs);
  }
}

std::vector<Target::Output> RuleTarget::outputs(const std::vector<Shape>& inputs) const {
  if (plan_->op.equal_shapes) {
    Invocation call;
    fill(call, inputs);
    if (const std::string unequal = call.unequal_shapes(plan_->op); !unequal.empty()) fail(unequal);
  }
  std::vector<Output> found = written(inputs);
  for (const OutPlan& out : plan_->op.outs)
    if (out.alias_arg < 0) found.push_back({shape_of(out, inputs), dtype_of(out, inputs)});
  return found;
}

// The library was written for MindSpore, and knows what an unknown size is.
std::vector<Target::Output> RuleTarget::outputs_from_kernel(const std::vector<Shape>& inputs) const {
  Invocation call;
  fill(call, inputs);
  call.inputs_end();
  std::vector<AotKernel::Output> described;
  if (const std::string error = call.infer(kernel_, plan_->op, described); !error.empty())
    throw std::runtime_error(error);
  std::vector<Output> found = written(inputs);
  for (AotKernel::Output& output : described) found.push_back({std::move(output.shape), output.dtype});
  return found;
}

std::vector<Target::Output> RuleTarget::outputs_of_unknown_shape(const std::vector<Shape>& inputs) const {
  const std::vector<Shape> ones = Substituted(Substitution::Ones, 1)(inputs);
  std::vector<Output> found = written(inputs);
  for (const OutPlan& out : plan_->op.outs)
    if (out.alias_arg < 0) found.push_back({{kUnknownRank}, dtype_of(out, ones)});
  return found;
}

std::vector<Target::Output> RuleTarget::written(const std::vector<Shape>& inputs) const {
  std::vector<Output> found;
  for (const TensorSlot& slot : fixed_.slots)
    if (slot.written) found.push_back({inputs[static_cast<size_t>(slot.input)], slot.dtype});
  return found;
}

template <class Evaluate>
auto RuleTarget::evaluate(const std::vector<Shape>& inputs, Evaluate evaluate) const {
  const RuleArguments<ShapedTensors> environment{plan_->op, fixed_.args.data(), {fixed_.slots, inputs}};
  try {
    return evaluate(environment);
  } catch (const RuleFailure& failure) {
    fail(std::string("these arguments give no shape or dtype for the output: ") + failure.what());
  }
}

RuleTarget::Shape RuleTarget::shape_of(const OutPlan& out, const std::vector<Shape>& inputs) const {
  return evaluate(inputs, [&](const auto& environment) {
    if (out.like_arg >= 0) return environment.tensors.shape(environment.place(static_cast<int>(out.like_arg), 0));
    SmallShape<int64_t> shape;
    evaluate_shape<int64_t>(out.program.data(), out.program.size(), environment, shape);
    return Shape(shape.begin(), shape.end());
  });
}

int32_t RuleTarget::dtype_of(const OutPlan& out, const std::vector<Shape>& inputs) const {
  return evaluate(inputs, [&](const auto& environment) {
    if (out.like_arg >= 0) return environment.dtype(static_cast<int>(out.like_arg), 0);
    return evaluate_dtype<int64_t>(out.program.data(), out.program.size(), environment);
  });
}

// The inputs, without their contents.
void RuleTarget::fill(Invocation& call, const std::vector<Shape>& inputs) const {
  for (const ob_arg& arg : fixed_.args) call.args.push_back(arg);
  for (const TensorSlot& slot : fixed_.slots) {
    if (slot.input < 0) {
      call.missing_tensor();
      continue;
    }
    const Shape& shape = inputs[static_cast<size_t>(slot.input)];
    call.tensor(nullptr, static_cast<int>(shape.size()), shape.data(), nullptr, slot.dtype);
  }
}

void RuleTarget::run(int nparam, void** params, const int* ndims, int64_t* const* shapes, const char* const* dtypes,
                     void* stream) {
  check_count(nparam, inputs() + written_ + plan_->new_outputs);
  ScratchArena memory;
  Invocation call;
  for (const ob_arg& arg : fixed_.args) call.args.push_back(arg);
  const auto add = [&](void* data, size_t param, int32_t dtype) {
    int64_t* strides = pass_strides_ ? contiguous_strides(ndims[param], shapes[param], memory) : nullptr;
    call.tensor(data, ndims[param], shapes[param], strides, dtype);
  };
  size_t output = inputs();
  for (const TensorSlot& slot : fixed_.slots) {
    if (slot.input < 0) {
      call.missing_tensor();
      continue;
    }
    const auto param = static_cast<size_t>(slot.input);
    check_type(param, dtypes[param], slot.dtype);
    void* data = params[param];
    if (slot.written) {
      data = params[output++];
      // XLA gives the output the input's own memory, which it has copied before where it has to.
      if (data != params[param]) std::memcpy(data, params[param], bytes_of(ndims[param], shapes[param], slot.dtype));
    }
    add(data, param, slot.dtype);
  }
  call.inputs_end();
  for (size_t i = 0; i < plan_->new_outputs; ++i, ++output) add(params[output], output, output_type(dtypes[output]));
  const std::string error =
      call.run(kernel_, plan_->full_name.c_str(), services_on(device_type_, memory, stream), pass_strides_);
  if (!error.empty()) throw std::runtime_error(error);
}

// A framework that changes element types between the call and the kernel, as mixed precision does, would have the
// kernel read memory that is not there.
void RuleTarget::check_type(size_t input, const char* got, int32_t expected) const {
  if (std::strcmp(got, dtype_name(expected)) != 0 && dtype_named(got) != expected)
    fail("input " + std::to_string(input) + " arrived as " + got + " and was passed as " + dtype_name(expected) +
         "; mixed precision has to know the operator: make it a part of the network, as in self.op = "
         "lib.op.mindspore");
}

// Most outputs are of a type that an input has, which is quicker to find.
int32_t RuleTarget::output_type(const char* name) const {
  for (const TensorSlot& slot : fixed_.slots)
    if (slot.dtype >= 0 && std::strcmp(name, dtype_name(slot.dtype)) == 0) return slot.dtype;
  return dtype_named(name);
}

void RuleTarget::fail(const std::string& message) const { throw std::runtime_error(plan_->full_name + ": " + message); }

}  // namespace opbridge

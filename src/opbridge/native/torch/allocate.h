// Outputs from the `out` rule, on real memory and on symbolic shapes alike.
#ifndef OPBRIDGE_NATIVE_TORCH_ALLOCATE_H
#define OPBRIDGE_NATIVE_TORCH_ALLOCATE_H

#include <ATen/EmptyTensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/SymInt.h>
#include <sys/mman.h>

#include "../rule_vm.h"
#include "entry.h"

namespace opbridge {

// Sizes that may be symbols: a comparison puts a guard on them, so that rules compare as seldom as they can.
template <>
struct RuleNumbers<c10::SymInt> {
  using Int = c10::SymInt;
  static Int add(const Int& a, const Int& b) { return a + b; }
  static Int subtract(const Int& a, const Int& b) { return a - b; }
  static Int multiply(const Int& a, const Int& b) { return a * b; }
  static Int floor_divide(const Int& a, const Int& b) {
    const auto x = a.maybe_as_int(), y = b.maybe_as_int();
    return x && y ? Int(RuleNumbers<int64_t>::floor_divide(*x, *y)) : a / b;
  }
  static bool equal(const Int& a, const Int& b) { return a == b; }
  static bool less(const Int& a, const Int& b) { return a < b; }
  static bool known_negative(const Int& a) { return a.maybe_as_int().value_or(0) < 0; }
  static int64_t concrete(const Int& a) { return a.guard_int(__FILE__, __LINE__); }
  static double real(const Int& a) { return static_cast<double>(a.guard_int(__FILE__, __LINE__)); }
  static std::string text(const Int& a) {
    const auto known = a.maybe_as_int();
    return known ? std::to_string(*known) : a.toSymNode()->str();
  }
};

}  // namespace opbridge

namespace opbridge::torch_adapter {

// What a compiled rule may ask of the arguments.
struct ValueEnvironment {
  const OpPlan& plan;
  const c10::IValue* values;

  at::Tensor tensor(int arg, int item) const {
    const c10::IValue& value = values[arg];
    if (value.isTensor()) return value.toTensor();
    const auto items = value.toListRef();
    if (item < 0) item += static_cast<int>(items.size());
    if (item < 0 || item >= static_cast<int>(items.size()))
      throw RuleFailure("the list '" + plan.args[arg].name + "' has " + std::to_string(items.size()) + " tensors");
    return items[item].toTensor();
  }
  int64_t rank(int arg, int item) const { return tensor(arg, item).dim(); }
  int dtype(int arg, int item) const { return dtype_code(tensor(arg, item).scalar_type()); }
  bool is_none(int arg) const { return values[arg].isNone(); }
  int64_t length(int arg) const { return static_cast<int64_t>(values[arg].toListRef().size()); }
  double float_value(int arg) const {
    return values[arg].isInt() ? static_cast<double>(values[arg].toInt()) : values[arg].toDouble();
  }
  bool bool_value(int arg) const { return values[arg].toBool(); }
  int dtype_value(int arg) const { return dtype_code(values[arg].toScalarType()); }
  double float_item(int arg, int64_t k) const { return values[arg].toListRef()[k].toDouble(); }
  bool bool_item(int arg, int64_t k) const { return values[arg].toListRef()[k].toBool(); }
  std::string_view string_value(int arg) const { return values[arg].toStringRef(); }
};

// Sizes as numbers: a symbol among them is guarded.
struct ConcreteEnvironment : ValueEnvironment {
  int64_t dim(int arg, int item, int64_t k) const { return tensor(arg, item).size(k); }
  int64_t int_value(int arg) const {
    return values[arg].isInt() ? values[arg].toInt() : values[arg].toSymInt().guard_int(__FILE__, __LINE__);
  }
  int64_t list_item(int arg, int64_t k) const {
    const c10::IValue& item = values[arg].toListRef()[k];
    return item.isInt() ? item.toInt() : item.toSymInt().guard_int(__FILE__, __LINE__);
  }
};

// Sizes as they are, so that a traced graph serves every size.
struct SymbolicEnvironment : ValueEnvironment {
  c10::SymInt dim(int arg, int item, int64_t k) const { return tensor(arg, item).sym_size(k); }
  c10::SymInt int_value(int arg) const { return values[arg].toSymInt(); }
  c10::SymInt list_item(int arg, int64_t k) const { return values[arg].toListRef()[k].toSymInt(); }
};

// The shape and the dtype that an output's rule gives, in the integers of the shape.
template <class Int, class Environment>
at::ScalarType run_rule(const Definition& definition, const OutPlan& out, const Environment& environment,
                        SmallShape<Int>& shape) {
  try {
    evaluate_shape<Int>(out.program.data(), out.program.size(), environment, shape);
    return scalar_type(evaluate_dtype<Int>(out.program.data(), out.program.size(), environment));
  } catch (const RuleFailure& failure) {
    throw Failure(call_error, definition.full_name + ": " + failure.what());
  }
}

// Page faults take half of the time of writing a large output.  Huge pages, which NumPy requests for arrays and PyTorch
// with THP_MEM_ALLOC_ENABLE, need fewer of them.
inline at::Tensor empty_cpu(at::IntArrayRef sizes, at::ScalarType type) {
  at::Tensor made = at::detail::empty_cpu(sizes, type);
#ifdef MADV_HUGEPAGE
  constexpr size_t page = 4096, large = size_t{1} << 22;
  if (const size_t bytes = made.nbytes(); bytes >= large) {
    const auto begin = (reinterpret_cast<uintptr_t>(made.data_ptr()) + page - 1) / page * page;
    madvise(reinterpret_cast<void*>(begin), bytes - page, MADV_HUGEPAGE);
  }
#endif
  return made;
}

inline at::Tensor allocate(const Definition& definition, const OutPlan& out, const ValueEnvironment& environment,
                           at::Device device) {
  if (out.like_arg >= 0) {
    const at::Tensor like = environment.tensor(static_cast<int>(out.like_arg), 0);
    if (device.is_cpu()) return empty_cpu(like.sizes(), like.scalar_type());
    return at::empty(like.sizes(), like.options().memory_format(at::MemoryFormat::Contiguous));
  }
  SmallShape<int64_t> shape;
  const at::ScalarType type = run_rule(definition, out, ConcreteEnvironment{environment}, shape);
  const at::IntArrayRef sizes(shape.data(), shape.size());
  if (device.is_cpu()) return empty_cpu(sizes, type);
  return at::empty(sizes, at::TensorOptions().dtype(type).device(device));
}

// The check that KernelCall makes on real shapes.  Sizes that only a running program knows are left to it.
inline void check_equal_shapes(const Definition& definition, const c10::IValue* values) {
  std::optional<at::Tensor> first;
  for (size_t i = 0; i < definition.plan.args.size(); ++i)
    each_tensor(values[i], [&](const at::Tensor& t) {
      if (!first) first = t;
      bool equal = t.dim() == first->dim();
      for (int64_t k = 0; equal && k < t.dim(); ++k) {
        const auto a = t.sym_size(k).maybe_as_int(), b = first->sym_size(k).maybe_as_int();
        equal = !a || !b || *a == *b;
      }
      if (!equal)
        throw Failure(call_error, definition.full_name + ": argument '" + definition.plan.args[i].name +
                                      "' has shape " + c10::str(t.sym_sizes()) + ", expected " +
                                      c10::str(first->sym_sizes()) + kPairsElements);
    });
}

// The Meta kernel where the kernel's library describes the outputs; in kernel.h.
void run_meta_from_kernel(const Definition& definition, const c10::IValue* values, Results& results);

// Rejects calls that mix meta tensors with others.  Tensors of one number are allowed anywhere, as in PyTorch.
inline void check_all_meta(const Definition& definition, const c10::IValue* values) {
  for (size_t i = 0; i < definition.plan.args.size(); ++i)
    each_tensor(values[i], [&](const at::Tensor& t) {
      if (!t.is_meta() && t.dim() > 0)
        throw Failure(call_error, definition.full_name + ": argument '" + definition.plan.args[i].name + "' is on " +
                                      t.device().str() + ", the others are on meta; move it there with .to(\"meta\")");
    });
}

// The Meta kernel: the same rule on SymInts, for fake tensors, compile and export.
inline void run_meta(const Definition& definition, const c10::IValue* values, Results& results) {
  check_all_meta(definition, values);
  if (definition.plan.outputs_from_kernel()) return run_meta_from_kernel(definition, values, results);
  if (definition.plan.equal_shapes) check_equal_shapes(definition, values);
  const SymbolicEnvironment environment{{definition.plan, values}};
  for (const OutPlan& out : definition.plan.outs) {
    if (out.alias_arg >= 0) {
      results.push_back(values[out.alias_arg]);
      continue;
    }
    if (out.like_arg >= 0) {
      const at::Tensor like = environment.tensor(static_cast<int>(out.like_arg), 0);
      results.emplace_back(
          at::empty_symint(like.sym_sizes(), at::TensorOptions().dtype(like.scalar_type()).device(at::kMeta)));
      continue;
    }
    SmallShape<c10::SymInt> shape;
    const at::ScalarType type = run_rule(definition, out, environment, shape);
    results.emplace_back(at::empty_symint(c10::SymIntArrayRef(shape.data(), shape.size()),
                                          at::TensorOptions().dtype(type).device(at::kMeta)));
  }
}

}  // namespace opbridge::torch_adapter

#endif

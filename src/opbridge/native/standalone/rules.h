// An operator's out rules as MindSpore asks for them, <F>InferShape and <F>InferType, in a library that runs there
// without opbridge.
#ifndef OPBRIDGE_NATIVE_STANDALONE_RULES_H
#define OPBRIDGE_NATIVE_STANDALONE_RULES_H

#include "attributes.h"
// Must follow the include above, which selects the kind of std::string.
#include "../mindspore_types.h"
#include "../plan.h"
#include "../rule_arguments.h"
#include "../rule_vm.h"
#include "../unknown_sizes.h"

namespace opbridge::standalone {

using Shape = std::vector<int64_t>;

// MindSpore tells shapes without types, and types without shapes.
struct KnownShapes {
  const std::vector<Shape>& shapes;

  bool present(int64_t) const { return true; }
  int64_t rank(int64_t i) const { return static_cast<int64_t>(shapes[static_cast<size_t>(i)].size()); }
  int64_t dim(int64_t i, int64_t k) const { return shapes[static_cast<size_t>(i)][static_cast<size_t>(k)]; }
  int dtype(int64_t) const {
    throw RuleFailure("a shape depends on a type, which MindSpore does not tell; pass out_shape");
  }
};

// Tensors of which only the types are known, as the rules ask for them.
struct KnownTypes {
  const std::vector<int>& types;

  bool present(int64_t) const { return true; }
  int64_t rank(int64_t) const {
    throw RuleFailure("a type depends on a rank, which MindSpore does not tell; pass out_dtype");
  }
  int64_t dim(int64_t, int64_t) const {
    throw RuleFailure("a type depends on a size, which MindSpore does not tell; pass out_dtype");
  }
  int dtype(int64_t i) const {
    const int code = dtype_of_mindspore(types[static_cast<size_t>(i)]);
    if (code < 0) throw RuleFailure("input " + std::to_string(i + 1) + " is of a type that kernels do not take");
    return code;
  }
};

// One operator, all of whose tensors are given in every call.
class Operator {
 public:
  Operator(const void* plan, size_t size, const ob_signature& signature)
      : op_(PlanReader(static_cast<const char*>(plan), size).read(0)), signature_(signature) {
    for (const ArgPlan& arg : op_.args) {
      inputs_ += arg.is_tensor();
      if (arg.is_tensor()) continue;
      const bool has_default = arg.has(kHasDefault);
      attributes_.push_back({arg.name.c_str(), has_default, has_default ? value(arg, arg.fallback) : none()});
    }
  }

  const std::vector<Attribute>& attributes() const { return attributes_; }

  std::vector<Shape> shapes(const int* ndims, int64_t* const* sizes, AotExtra& extra) const {
    return explained([&] {
      std::vector<Shape> inputs(inputs_);
      for (size_t i = 0; i < inputs_; ++i) inputs[i].assign(sizes[i], sizes[i] + ndims[i]);
      Reader reader(extra);
      const std::vector<ob_arg> args = arguments(reader);
      std::vector<Shape> found;
      for (Target::Output& output :
           all_known(inputs) ? outputs(inputs, args)
                             : infer_unknown(inputs, [&](const auto& tried) { return outputs(tried, args); }))
        found.push_back(std::move(output.shape));
      return found;
    });
  }

  std::vector<int> types(const std::vector<int>& inputs, AotExtra& extra) const {
    return explained([&] {
      if (inputs.size() != inputs_)
        throw RuleFailure("expected " + std::to_string(inputs_) + " tensors, got " + std::to_string(inputs.size()));
      Reader reader(extra);
      const std::vector<ob_arg> args = arguments(reader);
      const RuleArguments<KnownTypes> environment{op_, args.data(), {inputs}};
      std::vector<int> found;
      for (const OutPlan& out : op_.outs) {
        const int code = out.like_arg >= 0
                             ? environment.dtype(static_cast<int>(out.like_arg), 0)
                             : evaluate_dtype<int64_t>(out.program.data(), out.program.size(), environment);
        found.push_back(kMindSporeTypes[code]);
      }
      return found;
    });
  }

 private:
  template <class Body>
  auto explained(Body body) const -> decltype(body()) {
    try {
      return body();
    } catch (const std::exception& error) {
      throw std::runtime_error(op_.full_name() + ": " + error.what());
    }
  }

  // A default of the schema, as kernels get it.
  ob_arg value(const ArgPlan& arg, const Constant& constant) {
    switch (constant.tag) {
      case ConstantTag::None:
        return none();
      case ConstantTag::String:
        return storage_.text(constant.text);
      case ConstantTag::Dtype:
        return integer(constant.integer, OB_ARG_DTYPE);
      case ConstantTag::List:
        return list(arg, constant.items);
      default:
        if (arg.has(kList)) return list(arg, {static_cast<size_t>(std::max<int64_t>(arg.list_size, 0)), constant});
        if (constant.tag == ConstantTag::Float) return real(constant.real);
        return integer(constant.integer, constant.tag == ConstantTag::Bool ? OB_ARG_BOOL : OB_ARG_INT);
    }
  }

  ob_arg list(const ArgPlan& arg, const std::vector<Constant>& items) {
    std::vector<int64_t> integers;
    std::vector<double> reals;
    for (const Constant& item : items) {
      const bool is_real = item.tag == ConstantTag::Float;
      integers.push_back(item.integer);
      reals.push_back(is_real ? item.real : static_cast<double>(item.integer));
    }
    if (arg.kind == Kind::Float) return storage_.reals(std::move(reals));
    if (arg.kind == Kind::Bool) return storage_.bools({integers.begin(), integers.end()});
    return storage_.integers(std::move(integers));
  }

  std::vector<ob_arg> arguments(Reader& reader) const {
    std::vector<const ob_param*> params;
    for (int32_t p = 0; p < signature_.n_params; ++p)
      if (signature_.params[p].role == OB_PARAM_ATTR) params.push_back(signature_.params + p);
    std::vector<ob_arg> args;
    int64_t tensors = 0;
    size_t attributes = 0;
    for (const ArgPlan& arg : op_.args) {
      if (arg.is_tensor()) {
        args.push_back({OB_ARG_TENSOR, 1, {tensors++}});
      } else {
        if (attributes == params.size()) throw RuleFailure("the kernel has fewer attributes than the schema");
        args.push_back(reader.read(attributes_[attributes], *params[attributes]));
        ++attributes;
      }
    }
    return args;
  }

  std::vector<Target::Output> outputs(const std::vector<Shape>& inputs, const std::vector<ob_arg>& args) const {
    if (op_.equal_shapes && std::any_of(inputs.begin(), inputs.end(), [&](auto& shape) { return shape != inputs[0]; }))
      throw RuleFailure(
          "the inputs differ in shape; this operator pairs them element by element, without broadcasting");
    const RuleArguments<KnownShapes> environment{op_, args.data(), {inputs}};
    std::vector<Target::Output> found;
    for (const OutPlan& out : op_.outs) {
      if (out.like_arg >= 0) {
        found.push_back({inputs[static_cast<size_t>(environment.place(static_cast<int>(out.like_arg), 0))], 0});
        continue;
      }
      SmallShape<int64_t> shape;
      evaluate_shape<int64_t>(out.program.data(), out.program.size(), environment, shape);
      found.push_back({Shape(shape.begin(), shape.end()), 0});
    }
    return found;
  }

  const OpPlan op_;
  const ob_signature& signature_;
  Storage storage_;
  std::vector<Attribute> attributes_;
  size_t inputs_ = 0;
};

}  // namespace opbridge::standalone

// The interface is MindSpore's: C symbols with C++ types.
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wreturn-type-c-linkage"

// <name>Init, with the schema's defaults; `plan` is an array that native/plan.py made of one operator.
#define OB_MINDSPORE_OPERATOR(name, plan)                                                                \
  extern "C" __attribute__((weak)) const ob_signature name##_ob_signature;                               \
  static const opbridge::standalone::Operator& name##_operator() {                                       \
    static const auto& op = *new opbridge::standalone::Operator(plan, sizeof plan, name##_ob_signature); \
    return op;                                                                                           \
  }                                                                                                      \
  OB_MINDSPORE_INIT(name, name##_operator().attributes().data(),                                         \
                    static_cast<int32_t>(name##_operator().attributes().size()))

// <name>InferShape and <name>InferType of an operator with one output, and of one with several.
#define OB_MINDSPORE_INFER(name)                                                                             \
  OB_MINDSPORE_EXPORT std::vector<int64_t> name##InferShape(int* ndims, int64_t** shapes, AotExtra* extra) { \
    return name##_operator().shapes(ndims, shapes, *extra)[0];                                               \
  }                                                                                                          \
  OB_MINDSPORE_EXPORT int name##InferType(std::vector<int> types, AotExtra* extra) {                         \
    return name##_operator().types(types, *extra)[0];                                                        \
  }
#define OB_MINDSPORE_INFER_SEVERAL(name)                                                               \
  OB_MINDSPORE_EXPORT std::vector<std::vector<int64_t>> name##InferShape(int* ndims, int64_t** shapes, \
                                                                         AotExtra* extra) {            \
    return name##_operator().shapes(ndims, shapes, *extra);                                            \
  }                                                                                                    \
  OB_MINDSPORE_EXPORT std::vector<int> name##InferType(std::vector<int> types, AotExtra* extra) {      \
    return name##_operator().types(types, *extra);                                                     \
  }

#endif

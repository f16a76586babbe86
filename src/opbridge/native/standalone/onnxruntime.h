// Operators as ONNX Runtime's custom operators, in a library that runs there without opbridge.
//
// Their inputs are the tensors of the schema in its order, the last of which may be a list; their attributes are the
// other arguments by name, an element type as a text such as "float32".
#ifndef OPBRIDGE_NATIVE_STANDALONE_ONNXRUNTIME_H
#define OPBRIDGE_NATIVE_STANDALONE_ONNXRUNTIME_H

#include <opbridge/abi.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../binding.h"
#include "../core/host.h"
#include "../element_types.h"
#include "../invoke.h"
#include "../plan.h"
#include "../rule_arguments.h"
#include "../rule_vm.h"
#include "../unknown_sizes.h"
#include "onnxruntime_api.h"
#include "storage.h"

namespace opbridge::onnxruntime {

using standalone::Storage;

// What the caller did wrong; the runtime tells it from what failed.
class Refused : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws what the runtime refused.
inline void check(const Api& api, Status* status, const char* what) {
  if (!status) return;
  api.ReleaseStatus(status);
  throw std::runtime_error(std::string("ONNX Runtime refuses ") + what);
}
inline bool worked(const Api& api, Status* status) {
  if (status) api.ReleaseStatus(status);
  return !status;
}

// A tensor as rules and kernels see it; sizes may be unknown while a graph is read.
struct Tensor {
  void* data = nullptr;
  std::vector<int64_t> shape;
  int dtype = -1;
};

// The tensors of one call in schema order; those that are not there are null.
struct Tensors {
  const std::vector<const Tensor*>& all;

  const Tensor& at(int64_t i) const { return *all[static_cast<size_t>(i)]; }
  bool present(int64_t i) const { return all[static_cast<size_t>(i)] != nullptr; }
  int64_t rank(int64_t i) const { return static_cast<int64_t>(at(i).shape.size()); }
  int64_t dim(int64_t i, int64_t k) const { return at(i).shape[static_cast<size_t>(k)]; }
  int dtype(int64_t i) const { return present(i) ? at(i).dtype : -1; }
};

// Attributes of a node that is to run.
class NodeAttributes {
 public:
  NodeAttributes(const Api& api, const KernelInfo* info) : api_(api), info_(info) {}

  std::optional<int64_t> integer(const char* name) const {
    int64_t value;
    if (!worked(api_, api_.KernelInfoGetAttribute_int64(info_, name, &value))) return {};
    return value;
  }
  std::optional<double> real(const char* name) const {
    float value;
    if (!worked(api_, api_.KernelInfoGetAttribute_float(info_, name, &value))) return {};
    return value;
  }
  std::optional<std::string> text(const char* name) const {
    size_t size = 0;
    if (!worked(api_, api_.KernelInfoGetAttribute_string(info_, name, nullptr, &size)) || !size) return {};
    std::string value(size, '\0');
    check(api_, api_.KernelInfoGetAttribute_string(info_, name, value.data(), &size), "to tell a text");
    value.resize(size - 1);  // it counts the zero
    return value;
  }
  std::optional<std::vector<int64_t>> integers(const char* name) const {
    return several<int64_t>(name, api_.KernelInfoGetAttributeArray_int64);
  }
  std::optional<std::vector<double>> reals(const char* name) const {
    const auto found = several<float>(name, api_.KernelInfoGetAttributeArray_float);
    if (!found) return {};
    return std::vector<double>(found->begin(), found->end());
  }

 private:
  template <class T>
  std::optional<std::vector<T>> several(const char* name,
                                        Status* (*get)(const KernelInfo*, const char*, T*, size_t*)) const {
    size_t size = 0;
    if (!worked(api_, get(info_, name, nullptr, &size))) return {};
    std::vector<T> values(size);
    if (size) check(api_, get(info_, name, values.data(), &size), "to tell a list");
    return values;
  }

  const Api& api_;
  const KernelInfo* const info_;
};

// Attributes of a node whose outputs are inferred.
class GraphAttributes {
 public:
  GraphAttributes(const Api& api, const ShapeContext* context) : api_(api), context_(context) {}

  std::optional<int64_t> integer(const char* name) const { return one<int64_t>(name, kInt); }
  std::optional<double> real(const char* name) const {
    const auto value = one<float>(name, kFloat);
    if (!value) return {};
    return *value;
  }
  std::optional<std::string> text(const char* name) const {
    const auto found = several<char>(name, kString);
    if (!found) return {};
    return std::string(found->begin(), found->end());
  }
  std::optional<std::vector<int64_t>> integers(const char* name) const { return several<int64_t>(name, kInts); }
  std::optional<std::vector<double>> reals(const char* name) const {
    const auto found = several<float>(name, kFloats);
    if (!found) return {};
    return std::vector<double>(found->begin(), found->end());
  }

 private:
  const Attribute* find(const char* name) const {
    const Attribute* attribute = nullptr;
    return worked(api_, api_.ShapeInferContext_GetAttribute(context_, name, &attribute)) ? attribute : nullptr;
  }
  template <class T>
  std::optional<T> one(const char* name, AttributeType type) const {
    T value{};
    size_t bytes = 0;
    const Attribute* attribute = find(name);
    if (!attribute || !worked(api_, api_.ReadOpAttr(attribute, type, &value, sizeof value, &bytes))) return {};
    return value;
  }
  // Asked with no room the runtime says how many bytes there are, and refuses where there are any.
  template <class T>
  std::optional<std::vector<T>> several(const char* name, AttributeType type) const {
    size_t bytes = 0;
    const Attribute* attribute = find(name);
    if (!attribute) return {};
    if (worked(api_, api_.ReadOpAttr(attribute, type, nullptr, 0, &bytes))) return std::vector<T>{};
    std::vector<T> values(bytes / sizeof(T));
    if (values.empty() || !worked(api_, api_.ReadOpAttr(attribute, type, values.data(), bytes, &bytes))) return {};
    return values;
  }

  const Api& api_;
  const ShapeContext* const context_;
};

// One operator of the schema with its kernel.  Never changed once made; sessions call it from several threads.
class Operator : public CustomOp {
 public:
  Operator(const void* plan, size_t size, const char* name, ob_kernel function, const ob_signature* signature,
           const char* symbol)
      : op_(PlanReader(static_cast<const char*>(plan), size).read(0)), name_(name), full_name_(op_.full_name()) {
    kernel_.function = function;
    kernel_.signature = signature;
    kernel_.symbol = symbol;
    misfit_ = bind(op_, kernel_);
    for (const char strided : kernel_.strided) pass_strides_ |= strided != 0;
    for (const ArgPlan& arg : op_.args)
      if (arg.is_tensor()) tensors_.push_back(&arg);
    answer();
  }

  const std::string& ns() const { return op_.ns; }

 private:
  // What one node has fixed: its attributes.
  struct Node {
    const Operator& op;
    const Api& api;
    Storage storage;
    std::vector<ob_arg> attributes;  // by argument of the schema; those of tensors say nothing
  };

  struct Output {
    std::vector<int64_t> shape;
    int dtype;
  };

  static const Operator& self(const CustomOp* op) { return *static_cast<const Operator*>(op); }

  // The functions that the runtime calls.
  void answer() {
    GetName = [](const CustomOp* op) { return self(op).name_; };
    GetExecutionProviderType = [](const CustomOp*) -> const char* { return nullptr; };  // that for the CPU
    GetInputTypeCount = [](const CustomOp* op) { return self(op).tensors_.size(); };
    GetOutputTypeCount = [](const CustomOp* op) { return self(op).op_.outs.size(); };
    // Any: that types fit is held here, with messages of the operator's own.
    GetInputType = GetOutputType = [](const CustomOp*, size_t) { return 0; };
    GetInputMemoryType = [](const CustomOp*, size_t) { return 0; };
    GetInputCharacteristic = [](const CustomOp* op, size_t i) -> int {
      const ArgPlan& arg = *self(op).tensors_[i];
      return arg.has(kList) ? kVariadic : arg.has(kOptional) ? kOptionalInput : kRequired;
    };
    GetOutputCharacteristic = [](const CustomOp*, size_t) -> int { return kRequired; };
    GetVariadicInputMinArity = GetVariadicOutputMinArity = [](const CustomOp*) { return 1; };
    GetVariadicInputHomogeneity = GetVariadicOutputHomogeneity = [](const CustomOp*) { return 0; };
    GetStartVersion = [](const CustomOp*) { return 1; };
    GetEndVersion = [](const CustomOp*) { return INT32_MAX; };
    CreateKernelV2 = [](const CustomOp* op, const Api* api, const KernelInfo* info, void** kernel) {
      return self(op).guarded(*api, [&] { *kernel = self(op).node(*api, info); });
    };
    KernelComputeV2 = [](void* kernel, KernelContext* context) {
      const Node& node = *static_cast<Node*>(kernel);
      return node.op.guarded(node.api, [&] { node.op.compute(node, context); });
    };
    KernelDestroy = [](void* kernel) { delete static_cast<Node*>(kernel); };
    InferOutputShape = [](const CustomOp* op, ShapeContext* context) {
      const Api& api = *api_of_the_process();
      return self(op).guarded(api, [&] { self(op).infer(api, context); });
    };
  }

 public:
  // The runtime's table, which it does not hand to the function that infers shapes.
  static const Api*& api_of_the_process() {
    static const Api* api = nullptr;
    return api;
  }

 private:
  template <class Body>
  Status* guarded(const Api& api, Body body) const {
    try {
      body();
      return nullptr;
    } catch (const Refused& error) {
      return api.CreateStatus(kInvalidArgument, (full_name_ + ": " + error.what()).c_str());
    } catch (const RuleFailure& error) {
      return api.CreateStatus(kInvalidArgument, (full_name_ + ": " + error.what()).c_str());
    } catch (const std::exception& error) {
      return api.CreateStatus(kFail, error.what());
    }
  }

  Node* node(const Api& api, const KernelInfo* info) const {
    if (!misfit_.empty()) throw std::runtime_error(misfit_);
    auto node = std::make_unique<Node>(Node{*this, api, {}, {}});
    node->attributes = attributes(NodeAttributes(api, info), node->storage);
    return node.release();
  }

  template <class Attributes>
  std::vector<ob_arg> attributes(const Attributes& given, Storage& storage) const {
    std::vector<ob_arg> args;
    for (const ArgPlan& arg : op_.args)
      args.push_back(arg.is_tensor() ? standalone::none() : attribute(arg, given, storage));
    return args;
  }

  template <class Attributes>
  static ob_arg attribute(const ArgPlan& arg, const Attributes& given, Storage& storage) {
    const char* name = arg.name.c_str();
    if (const auto value = arg.has(kList) ? list(arg, given, storage) : scalar(arg, given, storage)) return *value;
    if (given.integer(name) || given.real(name) || given.text(name) || given.integers(name) || given.reals(name))
      throw Refused("attribute '" + arg.name + "' is not the " + detail::schema_word(arg) +
                    " that the schema has there");
    if (arg.has(kHasDefault)) return fallback(arg, storage);
    if (arg.has(kOptional)) return standalone::none();
    throw Refused("attribute '" + arg.name + "' is missing");
  }

  template <class Attributes>
  static std::optional<ob_arg> scalar(const ArgPlan& arg, const Attributes& given, Storage& storage) {
    const char* name = arg.name.c_str();
    if (arg.kind == Kind::String) {
      if (auto text = given.text(name)) return storage.text(std::move(*text));
      return {};
    }
    if (arg.kind == Kind::Dtype) {
      const auto text = given.text(name);
      const int code = text ? dtype_named(*text) : -1;
      if (code < 0) return {};
      return standalone::integer(code, OB_ARG_DTYPE);
    }
    const auto whole = given.integer(name);
    if (arg.kind == Kind::Bool && whole) return standalone::integer(*whole != 0, OB_ARG_BOOL);
    if ((arg.kind == Kind::Int || arg.kind == Kind::Scalar) && whole) return standalone::integer(*whole);
    if (arg.kind == Kind::Float || arg.kind == Kind::Scalar) {
      if (whole) return standalone::real(static_cast<double>(*whole));
      if (const auto number = given.real(name)) return standalone::real(*number);
    }
    return {};
  }

  template <class Attributes>
  static std::optional<ob_arg> list(const ArgPlan& arg, const Attributes& given, Storage& storage) {
    const char* name = arg.name.c_str();
    if (arg.has(kRows)) throw Refused("attribute '" + arg.name + "' is a list of lists, which ONNX has not");
    if (arg.kind == Kind::Float) {
      if (auto reals = given.reals(name)) return storage.reals(std::move(*reals));
    } else if (auto integers = given.integers(name)) {
      if (arg.kind == Kind::Bool) return storage.bools({integers->begin(), integers->end()});
      return storage.integers(std::move(*integers));
    }
    return {};
  }

  static int dtype_named(const std::string& text) {
    for (int code = 0; code < OB_DTYPE_COUNT; ++code)
      if (text == dtype_name(code)) return code;
    return -1;
  }

  // A default of the schema, as kernels get it.
  static ob_arg fallback(const ArgPlan& arg, Storage& storage) {
    const Constant& constant = arg.fallback;
    if (constant.tag == ConstantTag::None) return standalone::none();
    if (constant.tag == ConstantTag::String) return storage.text(constant.text);
    if (constant.tag == ConstantTag::Dtype) return standalone::integer(constant.integer, OB_ARG_DTYPE);
    if (arg.has(kList)) return fallback_list(arg, storage);
    if (constant.tag == ConstantTag::Float) return standalone::real(constant.real);
    if (arg.kind == Kind::Float) return standalone::real(static_cast<double>(constant.integer));
    return standalone::integer(constant.integer, constant.tag == ConstantTag::Bool ? OB_ARG_BOOL : OB_ARG_INT);
  }

  static ob_arg fallback_list(const ArgPlan& arg, Storage& storage) {
    std::vector<Constant> items = arg.fallback.items;
    // For `int[2]`, one number may replace the list.
    if (arg.fallback.tag != ConstantTag::List)
      items.assign(static_cast<size_t>(std::max<int64_t>(arg.list_size, 0)), arg.fallback);
    std::vector<int64_t> integers;
    std::vector<double> reals;
    for (const Constant& item : items) {
      integers.push_back(item.integer);
      reals.push_back(item.tag == ConstantTag::Float ? item.real : static_cast<double>(item.integer));
    }
    if (arg.kind == Kind::Float) return storage.reals(std::move(reals));
    if (arg.kind == Kind::Bool) return storage.bools({integers.begin(), integers.end()});
    return storage.integers(std::move(integers));
  }

  // The arguments of a call: its attributes, and where among `count` tensors those of each argument stand.
  std::vector<ob_arg> arguments(std::vector<ob_arg> args, size_t count) const {
    int64_t next = 0;
    for (size_t i = 0; i < args.size(); ++i) {
      if (!op_.args[i].is_tensor()) continue;
      if (op_.args[i].has(kList))
        args[i] = {OB_ARG_TENSORS, static_cast<int32_t>(static_cast<int64_t>(count) - next), {next}};
      else
        args[i] = {OB_ARG_TENSOR, 1, {next++}};
    }
    return args;
  }

  // As many as the schema has, or more where the last is a list.
  size_t places(size_t given) const {
    const bool has_list = !tensors_.empty() && tensors_.back()->has(kList);
    return has_list ? std::max(given, tensors_.size() - 1) : tensors_.size();
  }

  std::vector<const Tensor*> checked(const std::vector<std::optional<Tensor>>& given) const {
    std::vector<const Tensor*> found(places(given.size()), nullptr);
    for (size_t i = 0; i < found.size(); ++i) {
      if (i < given.size() && given[i]) found[i] = &*given[i];
      const ArgPlan& arg = *tensors_[std::min(i, tensors_.size() - 1)];
      if (!found[i] && !arg.has(kOptional) && !arg.has(kElementOptional))
        throw Refused("argument '" + arg.name + "' is missing");
      if (found[i] && found[i]->dtype < 0)
        throw Refused("argument '" + arg.name + "' has elements of a type that kernels do not take");
    }
    return found;
  }

  std::vector<Output> outputs(const std::vector<ob_arg>& args, const std::vector<const Tensor*>& tensors) const {
    const RuleArguments<Tensors> environment{op_, args.data(), {tensors}};
    std::vector<Output> found;
    for (const OutPlan& out : op_.outs) {
      if (out.like_arg >= 0) {
        const Tensor& like = environment.tensors.at(environment.place(static_cast<int>(out.like_arg), 0));
        found.push_back({like.shape, like.dtype});
        continue;
      }
      SmallShape<int64_t> shape;
      evaluate_shape<int64_t>(out.program.data(), out.program.size(), environment, shape);
      found.push_back(
          {{shape.begin(), shape.end()}, evaluate_dtype<int64_t>(out.program.data(), out.program.size(), environment)});
    }
    return found;
  }

  // Types do not depend on sizes, so they are inferred even if no shape can be.
  void infer(const Api& api, ShapeContext* context) const {
    size_t count = 0;
    check(api, api.ShapeInferContext_GetInputCount(context, &count), "to count inputs");
    std::vector<std::optional<Tensor>> given(count);
    for (size_t i = 0; i < count; ++i) {
      TypeAndShape* info = nullptr;  // the runtime's own
      if (worked(api, api.ShapeInferContext_GetInputTypeShape(context, i, &info)) && info)
        given[i] = described(api, info);
    }
    const std::vector<const Tensor*> tensors = checked(given);
    Storage storage;
    const std::vector<ob_arg> args = arguments(attributes(GraphAttributes(api, context), storage), tensors.size());
    std::vector<std::vector<int64_t>> shapes;
    for (const Tensor* tensor : tensors) shapes.push_back(tensor ? tensor->shape : std::vector<int64_t>{});
    const auto answer = [&](const std::vector<std::vector<int64_t>>& tried) {
      std::vector<Tensor> copies(tensors.size());
      std::vector<const Tensor*> all(tensors.size(), nullptr);
      for (size_t i = 0; i < tensors.size(); ++i) {
        if (!tensors[i]) continue;
        copies[i] = {nullptr, tried[i], tensors[i]->dtype};
        all[i] = &copies[i];
      }
      std::vector<Target::Output> found;
      for (Output& output : outputs(args, all)) found.push_back({std::move(output.shape), output.dtype});
      return found;
    };
    const auto found = all_known(shapes) ? answer(shapes) : infer_unknown(shapes, answer);
    for (size_t i = 0; i < found.size(); ++i) tell(api, context, i, found[i]);
  }

  static void tell(const Api& api, ShapeContext* context, size_t index, const Target::Output& output) {
    TypeAndShape* info = nullptr;
    check(api, api.CreateTensorTypeAndShapeInfo(&info), "a type");
    const std::unique_ptr<TypeAndShape, void (*)(TypeAndShape*)> owner(info, api.ReleaseTensorTypeAndShapeInfo);
    check(api, api.SetTensorElementType(info, onnx_of_dtype(output.dtype)), "an element type");
    check(api, api.SetDimensions(info, output.shape.data(), output.shape.size()), "a shape");
    // A name each, for sizes of one name are taken to be equal.
    static std::atomic<uint64_t> unknown{0};
    std::vector<std::string> names;
    std::vector<const char*> pointers;
    for (const int64_t size : output.shape) names.push_back(size < 0 ? "opbridge_" + std::to_string(unknown++) : "");
    for (const std::string& name : names) pointers.push_back(name.c_str());
    check(api, api.SetSymbolicDimensions(info, pointers.data(), pointers.size()), "names of sizes");
    check(api, api.ShapeInferContext_SetOutputTypeShape(context, index, info), "an output");
  }

  static Tensor described(const Api& api, const TypeAndShape* info) {
    Tensor tensor;
    int type = 0;
    size_t rank = 0;
    check(api, api.GetTensorElementType(info, &type), "to tell a type");
    check(api, api.GetDimensionsCount(info, &rank), "to tell a rank");
    tensor.dtype = dtype_of_onnx(type);
    tensor.shape.resize(rank);
    if (rank) check(api, api.GetDimensions(info, tensor.shape.data(), rank), "to tell a shape");
    return tensor;
  }

  static std::optional<Tensor> tensor_in(const Api& api, const KernelContext* context, size_t index) {
    const Value* value = nullptr;
    check(api, api.KernelContext_GetInput(context, index, &value), "an input");
    if (!value) return {};
    TypeAndShape* info = nullptr;
    check(api, api.GetTensorTypeAndShape(value, &info), "an input that is not a tensor");
    const std::unique_ptr<TypeAndShape, void (*)(TypeAndShape*)> owner(info, api.ReleaseTensorTypeAndShapeInfo);
    Tensor tensor = described(api, info);
    check(api, api.GetTensorMutableData(const_cast<Value*>(value), &tensor.data), "the memory of an input");
    return tensor;
  }

  void compute(const Node& node, KernelContext* context) const {
    const Api& api = node.api;
    size_t count = 0;
    check(api, api.KernelContext_GetInputCount(context, &count), "to count inputs");
    std::vector<std::optional<Tensor>> given;
    for (size_t i = 0; i < count; ++i) given.push_back(tensor_in(api, context, i));
    const std::vector<const Tensor*> tensors = checked(given);
    const std::vector<ob_arg> args = arguments(node.attributes, tensors.size());
    try {
      run(api, context, args, tensors);
    } catch (const std::exception&) {
      // Looked for last, as it takes a while and most calls are right.
      const std::string odd =
          refused_types(op_, kernel_, args.data(), [&](int64_t i) { return Tensors{tensors}.dtype(i); });
      if (!odd.empty()) throw Refused(odd);
      throw;
    }
  }

  void run(const Api& api, KernelContext* context, const std::vector<ob_arg>& args,
           const std::vector<const Tensor*>& tensors) const {
    ScratchArena memory;
    Invocation call;
    for (const ob_arg& arg : args) call.args.push_back(arg);
    for (const Tensor* tensor : tensors) add(call, tensor, memory);
    call.inputs_end();
    if (op_.equal_shapes)
      if (const std::string unequal = call.unequal_shapes(op_); !unequal.empty()) throw Refused(unequal);
    const std::vector<Output> wanted = outputs(args, tensors);
    std::vector<Tensor> made(wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      Value* value = nullptr;
      const std::vector<int64_t>& shape = wanted[i].shape;
      check(api, api.KernelContext_GetOutput(context, i, shape.data(), shape.size(), &value), "an output");
      made[i] = {nullptr, shape, wanted[i].dtype};
      check(api, api.GetTensorMutableData(value, &made[i].data), "the memory of an output");
      add(call, &made[i], memory);
    }
    const std::string error = call.run(kernel_, full_name_.c_str(), cpu_services(memory), pass_strides_);
    if (!error.empty()) throw std::runtime_error(error);
  }

  void add(Invocation& call, const Tensor* tensor, ScratchArena& memory) const {
    if (!tensor) return call.missing_tensor();
    auto* shape = const_cast<int64_t*>(tensor->shape.data());
    const auto rank = static_cast<int32_t>(tensor->shape.size());
    int64_t* strides = nullptr;
    if (pass_strides_) {
      strides = static_cast<int64_t*>(memory.take(sizeof(int64_t) * static_cast<size_t>(rank)));
      if (!strides) throw std::bad_alloc();
      int64_t step = 1;
      for (int32_t k = rank; k-- > 0; step *= shape[k]) strides[k] = step;
    }
    call.tensor(tensor->data, rank, shape, strides, tensor->dtype);
  }

  const OpPlan op_;
  const char* const name_;
  const std::string full_name_;
  std::vector<const ArgPlan*> tensors_;
  Binding kernel_;
  std::string misfit_;
  bool pass_strides_ = false;
};

// Adds operators of one namespace to a session, as its domain; it stays for as long as the process does, as sessions do
// not say when they are done with it.
inline Status* register_operators(SessionOptions* options, const ApiBase* base,
                                  const std::vector<const Operator*>& operators) {
  const Api* api = base->GetApi(kVersion);
  if (!api) {
    const std::string message = std::string("this library needs ONNX Runtime ") + kVersionText +
                                " or newer, and this is " + base->GetVersionString();
    return base->GetApi(1)->CreateStatus(kFail, message.c_str());
  }
  Operator::api_of_the_process() = api;
  Domain* domain = nullptr;
  if (Status* status = api->CreateCustomOpDomain(operators.front()->ns().c_str(), &domain)) return status;
  for (const Operator* op : operators)
    if (Status* status = api->CustomOpDomain_Add(domain, op)) return status;
  return api->AddCustomOpDomain(options, domain);
}

}  // namespace opbridge::onnxruntime

// An operator of this name, whose kernel on kernel.h is in this library.
#define OB_ONNXRUNTIME_OPERATOR(name, kernel, plan)                                                              \
  extern "C" int kernel(int, void**, int*, int64_t**, const char**, void*, void*);                               \
  extern "C" __attribute__((weak)) const ob_signature kernel##_ob_signature;                                     \
  static const opbridge::onnxruntime::Operator* name##_operator() {                                              \
    static const auto& op =                                                                                      \
        *new opbridge::onnxruntime::Operator(plan, sizeof plan, #name, kernel, &kernel##_ob_signature, #kernel); \
    return &op;                                                                                                  \
  }

// The function by which the runtime opens the library.
#define OB_ONNXRUNTIME_REGISTER(...)                                                                  \
  extern "C" __attribute__((visibility("default"))) opbridge::onnxruntime::Status* RegisterCustomOps( \
      opbridge::onnxruntime::SessionOptions* options, const opbridge::onnxruntime::ApiBase* base) {   \
    return opbridge::onnxruntime::register_operators(options, base, {__VA_ARGS__});                   \
  }

#endif

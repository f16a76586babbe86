// An operator as a function of tvm-ffi's call, in a library that runs under tvm-ffi's hosts without opbridge: the
// arguments of the schema in their order, then the new outputs; a single output may be left out, and is then returned.
#ifndef OPBRIDGE_NATIVE_STANDALONE_TVM_FFI_H
#define OPBRIDGE_NATIVE_STANDALONE_TVM_FFI_H

// As the library's other generated source has them, for both have parts of the same classes.
#undef _GLIBCXX_USE_CXX11_ABI
#define _GLIBCXX_USE_CXX11_ABI 0

#include <dlfcn.h>
#include <opbridge/abi.h>

#include <cstring>
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
#include "../tvm_ffi.h"
#include "storage.h"

namespace opbridge::standalone {

// What the caller did wrong, with the name of Python's class of errors.
class Refused : public std::runtime_error {
 public:
  Refused(const char* kind, const std::string& message) : std::runtime_error(message), kind(kind) {}
  const char* const kind;
};

// Thrown where the host has the error already.
struct Raised {};

// A function of libtvm_ffi.so, which the host has loaded; asked for late, as this library may have been loaded before.
template <class F>
F host_function(const char* name) {
  const auto function = reinterpret_cast<F>(dlsym(RTLD_DEFAULT, name));
  if (!function) throw std::runtime_error(std::string("the host has no ") + name);
  return function;
}

// A kernel with its plan, called by tvm-ffi's hosts: it checks what Python would have checked. Never changed once made.
class TvmFfiOperator {
 public:
  TvmFfiOperator(const void* plan, size_t size, ob_kernel function, const ob_signature* signature, const char* symbol,
                 int32_t device_type)
      : op_(PlanReader(static_cast<const char*>(plan), size).read(0)),
        name_(op_.full_name()),
        device_type_(device_type) {
    kernel_.function = function;
    kernel_.signature = signature;
    kernel_.symbol = symbol;
    misfit_ = bind(op_, kernel_);
    for (const char strided : kernel_.strided) pass_strides_ |= strided != 0;
    for (const OutPlan& out : op_.outs) new_outputs_ += out.alias_arg < 0;
  }

  int call(const tvm_ffi::Any* args, int32_t count, tvm_ffi::Any* result) const {
    try {
      run(args, count, result);
      return 0;
    } catch (const Raised&) {
      return -1;
    } catch (const Refused& error) {
      return raise(error.kind, name_ + ": " + error.what());
    } catch (const std::exception& error) {
      return raise("RuntimeError", error.what());
    }
  }

 private:
  using Tensor = tvm_ffi::Tensor;

  // The tensors of one call in schema order, absent ones too.
  struct Tensors {
    const std::vector<const Tensor*>& all;

    const Tensor& at(int64_t i) const { return *all[static_cast<size_t>(i)]; }
    bool present(int64_t i) const { return all[static_cast<size_t>(i)] != nullptr; }
    int64_t rank(int64_t i) const { return at(i).ndim; }
    int64_t dim(int64_t i, int64_t k) const { return at(i).shape[k]; }
    int dtype(int64_t i) const { return present(i) ? tvm_ffi::dtype_of(at(i).dtype) : -1; }
  };

  // An output that nobody has yet.
  struct Made {
    tvm_ffi::Any any{};
    ~Made() {
      if (any.type) host_function<int (*)(void*)>("TVMFFIObjectDecRef")(any.v.pointer);
    }
  };

  static int raise(const char* kind, const std::string& message) {
    using Raise = void (*)(const char*, const char*);
    if (const auto raise = reinterpret_cast<Raise>(dlsym(RTLD_DEFAULT, "TVMFFIErrorSetRaisedFromCStr")))
      raise(kind, message.c_str());
    return -1;
  }

  void run(const tvm_ffi::Any* values, int32_t count, tvm_ffi::Any* result) const {
    if (!misfit_.empty()) throw std::runtime_error(misfit_);
    const size_t inputs = op_.args.size();
    const auto given = static_cast<size_t>(count);
    const bool returns = new_outputs_ == 1 && given == inputs;
    if (!returns && given != inputs + new_outputs_) refuse_count(given);

    Storage storage;
    std::vector<ob_arg> args;
    std::vector<const Tensor*> tensors;
    args.reserve(inputs);
    tensors.reserve(inputs);
    for (size_t i = 0; i < inputs; ++i) args.push_back(argument(op_.args[i], values[i], storage, tensors));
    try {
      const tvm_ffi::Any made = compute(args, tensors, returns ? nullptr : values + inputs);
      if (returns) *result = made;
    } catch (const std::exception&) {
      // Looked for last, as it takes a while and most calls are right.
      const std::string odd =
          refused_types(op_, kernel_, args.data(), [&](int64_t i) { return Tensors{tensors}.dtype(i); });
      if (!odd.empty()) throw Refused("TypeError", odd);
      throw;
    }
  }

  // Writes to the given outputs; to one that it makes and returns, where they are null.
  tvm_ffi::Any compute(const std::vector<ob_arg>& args, const std::vector<const Tensor*>& tensors,
                       const tvm_ffi::Any* outputs) const {
    ScratchArena memory;
    Invocation call;
    for (const ob_arg& arg : args) call.args.push_back(arg);
    for (const Tensor* tensor : tensors) add(call, tensor, memory);
    call.inputs_end();
    if (op_.equal_shapes)
      if (const std::string unequal = call.unequal_shapes(op_); !unequal.empty()) throw Refused("ValueError", unequal);
    const RuleArguments<Tensors> environment{op_, args.data(), {tensors}};
    const tvm_ffi::Device device = device_of(tensors);
    Made made;
    size_t next = 0;
    for (const OutPlan& out : op_.outs) {
      if (out.alias_arg >= 0) continue;
      const Expected expected = output(out, environment);
      if (!outputs) made.any = allocated(expected, device);
      add(call, output_tensor(outputs ? outputs[next] : made.any, next, expected), memory);
      ++next;
    }
    const std::string error = call.run(kernel_, name_.c_str(), services(memory, device), pass_strides_);
    if (!error.empty()) throw std::runtime_error(error);
    return std::exchange(made.any, {});
  }

  [[noreturn]] void refuse_count(size_t given) const {
    std::string names;
    for (const ArgPlan& arg : op_.args) names += (names.empty() ? "" : ", ") + arg.name;
    throw Refused("TypeError", "expected " + detail::counted(op_.args.size(), "argument") + " (" + names + ") and " +
                                   detail::counted(new_outputs_, "output") + ", got " + std::to_string(given) +
                                   " values");
  }

  ob_arg argument(const ArgPlan& arg, const tvm_ffi::Any& value, Storage& storage,
                  std::vector<const Tensor*>& tensors) const {
    const auto first = static_cast<int64_t>(tensors.size());
    if (value.type == tvm_ffi::kNone) {
      if (!arg.has(kOptional)) throw Refused("TypeError", "argument '" + arg.name + "' cannot be None");
      if (!arg.is_tensor()) return none();
      if (arg.has(kList)) return {OB_ARG_TENSORS, 0, {kNoList}};
      tensors.push_back(nullptr);
      return {OB_ARG_TENSOR, 1, {first}};
    }
    if (!arg.is_tensor()) return arg.has(kList) ? list(arg, value, storage) : scalar(arg, value, storage);
    if (!arg.has(kList)) {
      tensors.push_back(&input(arg, value));
      return {OB_ARG_TENSOR, 1, {first}};
    }
    const std::vector<tvm_ffi::Any> items = items_of(arg, value);
    for (const tvm_ffi::Any& item : items)
      tensors.push_back(item.type == tvm_ffi::kNone && arg.has(kElementOptional) ? nullptr : &input(arg, item));
    return {OB_ARG_TENSORS, static_cast<int32_t>(items.size()), {first}};
  }

  [[noreturn]] static void refuse(const ArgPlan& arg) {
    throw Refused("TypeError",
                  "argument '" + arg.name + "' is not the " + detail::schema_word(arg) + " that the schema has there");
  }

  const Tensor& input(const ArgPlan& arg, const tvm_ffi::Any& value) const {
    const Tensor* tensor = tvm_ffi::tensor_in(value);
    if (!tensor) refuse(arg);
    check_place(*tensor, "argument '" + arg.name + "'");
    return *tensor;
  }

  void check_place(const Tensor& tensor, const std::string& what) const {
    const bool on_host = tensor.device.type == tvm_ffi::kCpu || tensor.device.type == tvm_ffi::kCudaHost;
    if (device_type_ == OB_DEVICE_CPU ? !on_host : tensor.device.type != tvm_ffi::kCuda)
      throw Refused("ValueError", what + " is on a device of type " + std::to_string(tensor.device.type) +
                                      " (of DLPack's), and the kernel runs on " +
                                      (device_type_ == OB_DEVICE_CPU ? "the CPU" : "CUDA"));
    if (tvm_ffi::dtype_of(tensor.dtype) < 0)
      throw Refused("TypeError", what + " has elements of a type that kernels do not take");
    if (!pass_strides_ && !contiguous(tensor))
      throw Refused("ValueError", what + " is not contiguous; pass a contiguous copy");
  }

  static bool contiguous(const Tensor& tensor) {
    if (!tensor.strides) return true;
    int64_t step = 1;
    bool same = true;
    for (int32_t k = tensor.ndim; k-- > 0; step *= tensor.shape[k]) {
      if (tensor.shape[k] == 0) return true;
      same &= tensor.shape[k] == 1 || tensor.strides[k] == step;
    }
    return same;
  }

  static std::vector<tvm_ffi::Any> items_of(const ArgPlan& arg, const tvm_ffi::Any& value) {
    if (value.type == tvm_ffi::kArray || value.type == tvm_ffi::kList) {
      const auto& items = tvm_ffi::payload<tvm_ffi::Items>(value.v.pointer);
      return {items.data, items.data + items.size};
    }
    if (value.type != tvm_ffi::kShape) refuse(arg);
    const auto& numbers = tvm_ffi::payload<tvm_ffi::Numbers>(value.v.pointer);
    std::vector<tvm_ffi::Any> items(numbers.size, {tvm_ffi::kInt, 0, {}});
    for (size_t i = 0; i < numbers.size; ++i) items[i].v.i = numbers.data[i];
    return items;
  }

  static ob_arg scalar(const ArgPlan& arg, const tvm_ffi::Any& value, Storage& storage) {
    const bool whole = value.type == tvm_ffi::kInt || value.type == tvm_ffi::kBool;
    const bool number = whole || value.type == tvm_ffi::kFloat;
    switch (arg.kind) {
      case Kind::Bool:
        if (whole) return integer(value.v.i != 0, OB_ARG_BOOL);
        break;
      case Kind::Int:
        if (whole) return integer(value.v.i);
        break;
      case Kind::Float:
        if (number) return real(whole ? static_cast<double>(value.v.i) : value.v.d);
        break;
      case Kind::Scalar:
        if (whole) return integer(value.v.i, value.type == tvm_ffi::kBool ? OB_ARG_BOOL : OB_ARG_INT);
        if (number) return real(value.v.d);
        break;
      case Kind::Dtype:
        if (value.type == tvm_ffi::kDataType && tvm_ffi::dtype_of(value.v.dtype) >= 0)
          return integer(tvm_ffi::dtype_of(value.v.dtype), OB_ARG_DTYPE);
        break;
      case Kind::String:
        if (value.type == tvm_ffi::kRawString) return storage.text(value.v.text);
        if (value.type == tvm_ffi::kSmallString) return storage.text({value.v.small, value.small_length});
        if (value.type == tvm_ffi::kString) {
          const auto& bytes = tvm_ffi::payload<tvm_ffi::Bytes>(value.v.pointer);
          return storage.text({bytes.data, bytes.size});
        }
        break;
      default:
        break;
    }
    refuse(arg);
  }

  static ob_arg list(const ArgPlan& arg, const tvm_ffi::Any& value, Storage& storage) {
    if (arg.has(kRows)) refuse(arg);
    std::vector<int64_t> integers;
    std::vector<double> reals;
    // For `int[2]`, one number may replace the list.
    const bool one = arg.list_size >= 0 && value.type < tvm_ffi::kFirstObject;
    const auto items =
        one ? std::vector<tvm_ffi::Any>(static_cast<size_t>(arg.list_size), value) : items_of(arg, value);
    for (const tvm_ffi::Any& item : items) {
      const ob_arg read = scalar(arg, item, storage);
      integers.push_back(read.v.i);
      reals.push_back(read.v.d);
    }
    if (arg.kind == Kind::Float) return storage.reals(std::move(reals));
    if (arg.kind == Kind::Bool) return storage.bools({integers.begin(), integers.end()});
    if (arg.kind == Kind::Int) return storage.integers(std::move(integers));
    refuse(arg);
  }

  void add(Invocation& call, const Tensor* tensor, ScratchArena& memory) const {
    if (!tensor) return call.missing_tensor();
    auto* strides = tensor->strides;
    if (!strides && pass_strides_) {
      strides = static_cast<int64_t*>(memory.take(sizeof(int64_t) * static_cast<size_t>(tensor->ndim)));
      if (!strides) throw std::bad_alloc();
      int64_t step = 1;
      for (int32_t k = tensor->ndim; k-- > 0; step *= tensor->shape[k]) strides[k] = step;
    }
    call.tensor(static_cast<char*>(tensor->data) + tensor->byte_offset, tensor->ndim, tensor->shape, strides,
                tvm_ffi::dtype_of(tensor->dtype));
  }

  // What the rule wants of an output that the caller has allocated.
  struct Expected {
    std::vector<int64_t> shape;
    int32_t dtype;
  };

  static Expected output(const OutPlan& out, const RuleArguments<Tensors>& environment) {
    try {
      if (out.like_arg >= 0) {
        const Tensor& like = environment.tensors.at(environment.place(static_cast<int>(out.like_arg), 0));
        return {{like.shape, like.shape + like.ndim}, tvm_ffi::dtype_of(like.dtype)};
      }
      SmallShape<int64_t> shape;
      evaluate_shape<int64_t>(out.program.data(), out.program.size(), environment, shape);
      return {{shape.begin(), shape.end()},
              evaluate_dtype<int64_t>(out.program.data(), out.program.size(), environment)};
    } catch (const RuleFailure& failure) {
      throw Refused("ValueError", failure.what());
    }
  }

  const Tensor* output_tensor(const tvm_ffi::Any& value, size_t place, const Expected& expected) const {
    const std::string what = "output " + std::to_string(place + 1);
    const Tensor* tensor = tvm_ffi::tensor_in(value);
    if (!tensor) throw Refused("TypeError", what + " is not a tensor");
    check_place(*tensor, what);
    const std::vector<int64_t> shape(tensor->shape, tensor->shape + tensor->ndim);
    if (shape != expected.shape)
      throw Refused("ValueError", what + " has shape " + shown(shape) + ", expected " + shown(expected.shape));
    if (const int32_t dtype = tvm_ffi::dtype_of(tensor->dtype); dtype != expected.dtype)
      throw Refused("TypeError", what + " is " + dtype_name(dtype) + ", expected " + dtype_name(expected.dtype));
    return tensor;
  }

  static std::string shown(const std::vector<int64_t>& shape) {
    SmallShape<int64_t> text;
    for (const int64_t size : shape) text.push(size);
    return shape_text(text);
  }

  tvm_ffi::Device device_of(const std::vector<const Tensor*>& tensors) const {
    for (const Tensor* tensor : tensors)
      if (tensor) return tensor->device;
    return {device_type_ == OB_DEVICE_CPU ? tvm_ffi::kCpu : tvm_ffi::kCuda, 0};
  }

  // By the allocator of the host's tensors, so that what is returned is a tensor of theirs.
  static tvm_ffi::Any allocated(const Expected& expected, tvm_ffi::Device device) {
    Tensor like{nullptr,
                device,
                static_cast<int32_t>(expected.shape.size()),
                tvm_ffi::kDataTypes[expected.dtype],
                const_cast<int64_t*>(expected.shape.data()),
                nullptr,
                0};
    tvm_ffi::Any made{tvm_ffi::kTensor, 0, {}};
    if (host_function<int (*)(Tensor*, void**)>("TVMFFIEnvTensorAlloc")(&like, &made.v.pointer)) throw Raised{};
    return made;
  }

  HostServices services(ScratchArena& memory, tvm_ffi::Device device) const {
    if (device_type_ == OB_DEVICE_CPU) return cpu_services(memory);
    using GetStream = void* (*)(int32_t, int32_t);
    void* stream = host_function<GetStream>("TVMFFIEnvGetStream")(device.type, device.index);
    HostServices services = services_on(device_type_, memory, stream);
    services.device_index = device.index;
    return services;
  }

  const OpPlan op_;
  const std::string name_;
  const int32_t device_type_;
  Binding kernel_;
  std::string misfit_;
  bool pass_strides_ = false;
  size_t new_outputs_ = 0;
};

}  // namespace opbridge::standalone

// __tvm_ffi_<name>, for an operator of this name whose kernel on kernel.h is in this library.
#define OB_TVM_FFI_FUNCTION(name, kernel, plan, device)                                                                \
  extern "C" int kernel(int, void**, int*, int64_t**, const char**, void*, void*);                                     \
  extern "C" __attribute__((weak)) const ob_signature kernel##_ob_signature;                                           \
  extern "C" __attribute__((visibility("default"))) int __tvm_ffi_##name(                                              \
      void*, const opbridge::tvm_ffi::Any* args, int32_t count, opbridge::tvm_ffi::Any* result) {                      \
    static const auto& op =                                                                                            \
        *new opbridge::standalone::TvmFfiOperator(plan, sizeof plan, kernel, &kernel##_ob_signature, #kernel, device); \
    return op.call(args, count, result);                                                                               \
  }

#endif

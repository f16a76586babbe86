#include "tvm_ffi_kernel.h"

#include <cstdio>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "../aot_kernel.h"
#include "crashes.h"
#include "kernel.h"
#include "libraries.h"
#include "tvm_ffi_runtime.h"

namespace opbridge {
namespace {

using tvm_ffi::Any;
using tvm_ffi::Owned;
using tvm_ffi::Runtime;

Any any(int32_t type, int64_t value) {
  Any result{type, 0, {}};
  result.v.i = value;
  return result;
}

Any any(double value) {
  Any result{tvm_ffi::kFloat, 0, {}};
  result.v.d = value;
  return result;
}

Any any(int32_t type, const void* pointer) {
  Any result{type, 0, {}};
  result.v.pointer = const_cast<void*>(pointer);
  return result;
}

// The values of one call: the arguments in the order of the schema, then the outputs that the kernel writes to.
class Values {
 public:
  Values(const Runtime& runtime, const ob_call& call, int nparam, void** params, const int* ndims, int64_t** shapes) {
    size_t sizes = 0;
    for (int i = 0; i < nparam; ++i) sizes += static_cast<size_t>(ndims[i]);
    strides_.resize(sizes);
    int64_t* strides = strides_.data();
    tensors_.reserve(static_cast<size_t>(nparam));
    values_.reserve(static_cast<size_t>(call.n_args + nparam));
    for (int i = 0; i < nparam; ++i) {
      tensors_.push_back(tensor(call, params[i], ndims[i], shapes[i], call.dtypes[i], strides));
      strides += ndims[i];
    }
    for (int32_t i = 0; i < call.n_args; ++i) values_.push_back(value(runtime, call, i));
    for (int i = call.n_inputs; i < nparam; ++i) values_.push_back(any(tvm_ffi::kTensorView, &tensors_[i]));
  }

  const Any* data() const { return values_.data(); }
  int32_t size() const { return static_cast<int32_t>(values_.size()); }

  static tvm_ffi::Device device(const ob_call& call) {
    if (call.device_type == OB_DEVICE_CPU) return {tvm_ffi::kCpu, 0};
    return {call.device_type == OB_DEVICE_CUDA ? tvm_ffi::kCuda : tvm_ffi::kExtension, call.device_index};
  }

 private:
  // Hosts pass tensors contiguously unless the kernel accepts strides.
  static tvm_ffi::Tensor tensor(const ob_call& call, void* data, int ndim, int64_t* shape, int32_t dtype,
                                int64_t* strides) {
    int64_t step = 1;
    for (int k = ndim - 1; k >= 0; --k) {
      strides[k] = step;
      step *= shape[k];
    }
    return {data, device(call), ndim, dtype < 0 ? tvm_ffi::DataType{} : tvm_ffi::kDataTypes[dtype], shape, strides, 0};
  }

  Any value(const Runtime& runtime, const ob_call& call, int32_t i) {
    const ob_arg& arg = call.args[i];
    switch (arg.kind) {
      case OB_ARG_NONE:
        return {};
      case OB_ARG_TENSOR:
        return call.dtypes[arg.v.first] < 0 ? Any{} : any(tvm_ffi::kTensorView, &tensors_[arg.v.first]);
      case OB_ARG_BOOL:
        return any(tvm_ffi::kBool, arg.v.i);
      case OB_ARG_INT:
        return any(tvm_ffi::kInt, arg.v.i);
      case OB_ARG_FLOAT:
        return any(arg.v.d);
      case OB_ARG_STRING:
        return any(tvm_ffi::kRawString, arg.v.s);
      case OB_ARG_DTYPE: {
        Any result{tvm_ffi::kDataType, 0, {}};
        result.v.dtype = tvm_ffi::kDataTypes[arg.v.i];
        return result;
      }
      case OB_ARG_INTS:
        return list(runtime, arg, [&](int32_t k) { return any(tvm_ffi::kInt, arg.v.ints[k]); });
      case OB_ARG_FLOATS:
        return list(runtime, arg, [&](int32_t k) { return any(arg.v.floats[k]); });
      case OB_ARG_BOOLS:
        return list(runtime, arg, [&](int32_t k) { return any(tvm_ffi::kBool, int64_t{arg.v.bools[k]}); });
      default:
        throw std::runtime_error(std::string("argument '") + call.arg_names[i] +
                                 "' is a list of tensors or of lists, which kernels of tvm-ffi get none of here");
    }
  }

  template <class Item>
  Any list(const Runtime& runtime, const ob_arg& arg, Item item) {
    std::vector<Any> items;
    for (int32_t k = 0; k < arg.count; ++k) items.push_back(item(k));
    lists_.push_back(runtime.call_global("ffi.Array", std::move(items)));
    return lists_.back().any;
  }

  std::vector<int64_t> strides_;
  std::vector<tvm_ffi::Tensor> tensors_;
  std::vector<Owned> lists_;
  std::vector<Any> values_;
};

// The stream of a call on a GPU, for the length of the call.
class OnStream {
 public:
  OnStream(const Runtime& runtime, tvm_ffi::Device device, void* stream) : runtime_(runtime), device_(device) {
    if (device_.type == tvm_ffi::kCuda) old_ = runtime_.exchange_stream(device_, stream);
  }
  OnStream(const OnStream&) = delete;
  OnStream& operator=(const OnStream&) = delete;
  ~OnStream() {
    if (device_.type == tvm_ffi::kCuda) runtime_.exchange_stream(device_, old_);
  }

 private:
  const Runtime& runtime_;
  const tvm_ffi::Device device_;
  void* old_ = nullptr;
};

// A function of tvm-ffi's call, to which the schema's arguments are passed as values and its outputs last.
class TvmFfiKernel final : public AotKernel {
 public:
  // Keeps the function, and the module it stands in, for as long as the process lives.
  TvmFfiKernel(const Runtime& runtime, void* function)
      : runtime_(runtime), function_(function), call_(tvm_ffi::payload<tvm_ffi::Function>(function)) {}

  int run(const ob_call& call, int nparam, void** params, int* ndims, int64_t** shapes, const char**,
          void* stream) override {
    try {
      const Values values(runtime_, call, nparam, params, ndims, shapes);
      const OnStream on_stream(runtime_, Values::device(call), stream);
      Owned result(runtime_);
      if (call_(function_, values.data(), values.size(), &result.any)) throw std::runtime_error(runtime_.take_error());
      if (result.any.type == tvm_ffi::kTensor)
        throw std::runtime_error(
            "the function returns a new tensor; expected one that takes its outputs as last arguments and writes to "
            "them");
      return 0;
    } catch (const std::exception& error) {
      std::snprintf(call.error, call.error_size, "%s", error.what());
      return 1;
    }
  }

  bool infers() const override { return false; }
  int infer(const ob_call&, const int*, int64_t* const*, std::vector<Output>&) override { return 1; }
  const char* description() const override { return "a function of tvm-ffi's call"; }

 private:
  const Runtime& runtime_;
  void* const function_;
  const tvm_ffi::Function call_;
};

// Opened as tvm-ffi's own loader does, which also hands the library the modules and the context that it asks for.
AotKernel* open_function(const std::string& runtime_path, const std::string& path, const std::string& name) {
  // Never freed, as libraries are never closed: when a process ends, a thread may still be in a kernel.
  static auto& known = *new std::map<std::pair<std::string, std::string>, TvmFfiKernel>;
  static std::mutex& mutex = *new std::mutex;
  const Runtime& runtime = Runtime::at(runtime_path);
  const std::lock_guard<std::mutex> lock(mutex);
  if (const auto found = known.find({path, name}); found != known.end()) return &found->second;
  Owned module = runtime.call_global("ffi.ModuleLoadFromFile", {any(tvm_ffi::kRawString, path.c_str())});
  const Any from_imports = any(tvm_ffi::kBool, int64_t{true});
  Owned function =
      runtime.call_global("ffi.ModuleGetFunction", {module.any, any(tvm_ffi::kRawString, name.c_str()), from_imports});
  if (function.any.type != tvm_ffi::kFunction) return nullptr;
  AotKernel* kernel = &known.try_emplace({path, name}, runtime, function.any.v.pointer).first->second;
  function.any = module.any = {};  // they are the kernel's now
  return kernel;
}

}  // namespace

PyObject* load_tvm_ffi_kernel(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    if (count != 4) raise("KernelError", "load_tvm_ffi_kernel expects path, function, shown and runtime");
    const std::string path = encoded_path(args[0]), name = text_of(args[1]), runtime = encoded_path(args[3]);
    AotKernel* kernel = nullptr;
    std::string failure;
    watch_for_crashes();
    {
      const WithoutGil no_gil;
      try {
        kernel = open_function(runtime, path, name);
      } catch (const std::exception& error) {
        failure = error.what();
      }
    }
    if (!failure.empty())
      raise("KernelError", "cannot load " + path + ": " + failure + advice("elf", "why_not_loaded", args[0], failure));
    if (!kernel)
      raise("KernelError",
            "no function '" + name + "' in " + text_of(args[2]) + advice("tvm_ffi", "why_no_function", args[0], name));
    open_library(path);  // which it is already, and is known from now on
    return new_kernel({nullptr, nullptr, kernel}, args[0], args[1]);
  });
}

}  // namespace opbridge

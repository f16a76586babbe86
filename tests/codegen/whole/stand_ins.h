// What a backend's authors would write, for the simulated device: each kernel is what the device did before there was
// one, which is PyTorch's kernel for the CPU on the device's memory.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <c10/util/SmallVector.h>

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace stand_in {

using Stack = torch::jit::Stack;

inline std::map<std::string, c10::KernelFunction>& kernels() {
  static auto& found = *new std::map<std::string, c10::KernelFunction>;
  return found;
}

struct WhatTheDeviceDid final : c10::OperatorKernel {
  explicit WhatTheDeviceDid(c10::SafeKernelFunction kernel) : kernel(std::move(kernel)) {}
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
    kernel.callBoxed(op, keys, stack);
  }
  c10::SafeKernelFunction kernel;
};

inline std::string key_of(const std::string& name, const std::string& overload, c10::DispatchKey key) {
  return name + "." + overload + "/" + c10::toString(key);
}

// Before the library's own kernels are registered.
inline void remember() {
  for (const auto& name : c10::Dispatcher::singleton().getAllOpNames()) {
    const auto op = c10::Dispatcher::singleton().findOp(name);
    if (!op || !op->hasSchema() || name.name.rfind("aten::", 0) != 0) continue;
    for (const auto key : {c10::DispatchKey::PrivateUse1, c10::DispatchKey::SparsePrivateUse1,
                           c10::DispatchKey::QuantizedPrivateUse1, c10::DispatchKey::AutogradPrivateUse1}) {
      try {
        auto kernel = std::make_unique<WhatTheDeviceDid>(op->getComputedKernelForDispatchKey(key));
        kernels().emplace(key_of(name.name, name.overload_name, key),
                          c10::KernelFunction::makeFromBoxedFunctor(std::move(kernel)));
      } catch (const c10::Error&) {  // It did nothing.
      }
    }
  }
}

inline const c10::KernelFunction& kernel(const char* name, const char* overload, c10::DispatchKey key) {
  const auto found = kernels().find(key_of(name, overload, key));
  TORCH_CHECK_NOT_IMPLEMENTED(found != kernels().end(), name, ".", overload, " has no kernel to stand in for it");
  return found->second;
}

template <class Function>
struct Call;

template <class Result, class... Arguments>
struct Call<Result(Arguments...)> {
  static Result with(const char* name, const char* overload, c10::DispatchKey key, Arguments... arguments) {
    const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
    return kernel(name, overload, key)
        .template call<Result, Arguments...>(op, c10::DispatchKeySet(key), std::forward<Arguments>(arguments)...);
  }
};

// A call of an operator whose kernel is generated, while it lasts.
struct Running final : at::ObserverContext {
  explicit Running(c10::OperatorName name, std::vector<c10::IValue> inputs)
      : name(std::move(name)), inputs(std::move(inputs)), outer(innermost()) {
    innermost() = this;
  }
  ~Running() override { innermost() = outer; }

  static Running*& innermost() {
    static thread_local Running* running = nullptr;
    return running;
  }

  // The operator is run once, whoever asks first.
  const Stack& results() {
    if (!has_run) {
      has_run = true;
      const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name.name.c_str(), name.overload_name.c_str());
      Stack stack(inputs.begin(), inputs.end());
      kernel(name.name.c_str(), name.overload_name.c_str(), c10::DispatchKey::PrivateUse1)
          .callBoxed(op, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), &stack);
      found = std::move(stack);
    }
    return found;
  }

  static bool is_part(const at::Tensor& tensor, const at::Tensor& whole) {
    return whole.defined() && (whole.is_same(tensor) || (whole.has_storage() && tensor.is_alias_of(whole)));
  }

  bool is_input(const at::Tensor& tensor) const {
    for (const auto& input : inputs)
      if (input.isTensor() && is_part(tensor, input.toTensor())) return true;
    return false;
  }

  // What the function of the library would write.
  void write(const std::vector<at::Tensor>& tensors) {
    std::vector<at::Tensor> made;
    for (const auto& tensor : tensors)
      if (!is_input(tensor)) made.push_back(tensor);
    const Stack& right = results();
    if (made.empty()) return;
    TORCH_CHECK(made.size() == right.size(), name, ": the kernel makes ", made.size(), " tensors of ", right.size());
    for (size_t i = 0; i < made.size(); ++i) {
      const at::Tensor& expected = right[i].toTensor();
      TORCH_CHECK(made[i].sizes() == expected.sizes(), name, ": the kernel makes an output of sizes ", made[i].sizes(),
                  ", PyTorch of ", expected.sizes());
      TORCH_CHECK(made[i].scalar_type() == expected.scalar_type(), name, ": the kernel makes an output of ",
                  made[i].scalar_type(), ", PyTorch of ", expected.scalar_type());
      made[i].copy_(expected);
    }
  }

  c10::OperatorName name;
  std::vector<c10::IValue> inputs;
  Running* outer;
  Stack found;
  size_t asked = 0;  // for sizes
  bool has_run = false;
};

inline std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& call) {
  const auto name = call.operator_name();
  if (!name || name->name.rfind("aten::", 0) != 0) return nullptr;
  return std::make_unique<Running>(*name, std::vector<c10::IValue>(call.inputs().begin(), call.inputs().end()));
}

inline Running& running() {
  TORCH_CHECK(Running::innermost(), "no operator is running");
  return *Running::innermost();
}

// In the place of what a helper returns: what makes the outputs those of PyTorch.
struct Value {
  static const at::Tensor& output() {
    const Stack& results = running().results();
    const size_t index = std::min(running().asked, results.size() - 1);
    return results[index].toTensor();
  }
  operator c10::SmallVector<int64_t, 8>() const {
    const auto sizes = output().sizes();
    ++running().asked;
    return {sizes.begin(), sizes.end()};
  }
  operator at::IntArrayRef() const {
    const auto sizes = output().sizes();
    ++running().asked;
    return sizes;
  }
  operator at::ScalarType() const { return running().results()[0].toTensor().scalar_type(); }
  operator bool() const { return true; }
  operator int64_t() const { return 0; }
  operator double() const { return 0; }
  operator std::string() const { return ""; }
  operator const char*() const { return ""; }
  template <class... Parts>
  operator std::tuple<Parts...>() const {
    return {Parts{""}...};
  }
  template <class Each>
  operator std::vector<Each>() const {
    return {Each(*this)};
  }
};

}  // namespace stand_in

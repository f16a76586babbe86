/* Stands before PyTorch's header of this name, for sources that declare functions of tensors and numbers, and bind
 * them: PyTorch's and pybind11's own take five seconds to say as much.  What a call of Python's means is decided by
 * pybind11 all the same, in a library that is compiled once (native/torch_bindings/bindings.cpp).
 */
#ifndef OPBRIDGE_SLIM_TORCH_EXTENSION_H
#define OPBRIDGE_SLIM_TORCH_EXTENSION_H

#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../../bindings/table.h"

namespace at {
// Replaces PyTorch's class of this name for code that only passes it on: one member, which counts references.
class Tensor {
 public:
  [[gnu::always_inline]] Tensor(const Tensor& other) { opbridge_bindings_copy(&member_, &other.member_); }
  [[gnu::always_inline]] ~Tensor() { opbridge_bindings_release(&member_); }
  Tensor& operator=(const Tensor&) = delete;

 private:
  void* member_;
};
}  // namespace at

namespace torch {
using at::Tensor;

template <class F>
F* wrap_pybind_function(F* function) {
  return function;
}
}  // namespace torch

namespace opbridge::bindings {

template <class T>
constexpr Kind kKind = [] {
  if constexpr (std::is_void_v<T>) return Kind::Nothing;
  if constexpr (std::is_same_v<T, at::Tensor>) return Kind::Tensor;
  if constexpr (std::is_same_v<T, std::vector<at::Tensor>>) return Kind::Tensors;
  if constexpr (std::is_same_v<T, bool>) return Kind::Bool;
  if constexpr (std::is_same_v<T, int>) return Kind::Int;
  if constexpr (std::is_same_v<T, std::int64_t>) return Kind::Int64;
  if constexpr (std::is_same_v<T, float>) return Kind::Float;
  if constexpr (std::is_same_v<T, double>) return Kind::Double;
}();

template <class R, class... A>
struct Call {
  static constexpr Kind kKinds[] = {kKind<std::decay_t<A>>..., Kind::Nothing};

  static void make(Target target, void* const* arguments, void* result) {
    make(reinterpret_cast<R (*)(A...)>(target), arguments, result, std::index_sequence_for<A...>());
  }

 private:
  template <std::size_t... i>
  static void make(R (*function)(A...), void* const* arguments, void* result, std::index_sequence<i...>) {
    if constexpr (std::is_void_v<R>) {
      function(*static_cast<std::decay_t<A>*>(arguments[i])...);
    } else {
      new (result) std::decay_t<R>(function(*static_cast<std::decay_t<A>*>(arguments[i])...));
    }
  }
};

// The module of a source: functions in the order of their definitions.
class Module {
 public:
  template <class R, class... A>
  void def(const char* name, R (*function)(A...), const char* documentation = "") {
    using One = Call<R, A...>;
    const auto target = reinterpret_cast<Target>(function);
    functions_.push_back({name, documentation, kKind<std::decay_t<R>>, One::kKinds, sizeof...(A), target, &One::make});
  }

  void* made(const char* name) const { return opbridge_bindings_module(name, functions_.data(), functions_.size()); }

 private:
  std::vector<Function> functions_;
};

}  // namespace opbridge::bindings

#define OPBRIDGE_BINDINGS_MODULE(name, variable)                            \
  static void opbridge_bind(opbridge::bindings::Module& variable);          \
  extern "C" __attribute__((visibility("default"))) void* PyInit_##name() { \
    static opbridge::bindings::Module module;                               \
    opbridge_bind(module);                                                  \
    return module.made(#name);                                              \
  }                                                                         \
  static void opbridge_bind(opbridge::bindings::Module& variable)
#define PYBIND11_MODULE(name, variable) OPBRIDGE_BINDINGS_MODULE(name, variable)

#endif

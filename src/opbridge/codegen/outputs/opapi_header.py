"""The initial Launcher.h of a backend: it calls the C functions of a library that is linked or loaded."""

from __future__ import annotations

from opbridge.codegen.backend import TargetBackend


def launcher_header(target: TargetBackend, *, has_helpers: bool) -> str:
    """Return the text of Launcher.h."""
    helpers = '#include "Helpers.h"\n' if has_helpers else ""
    return _TEXT.replace("@NAMESPACE@", target.cpp_namespace).replace("@HELPERS@\n", helpers)


_TEXT = """\
// How generated kernels reach the functions that declarations name in `exec`.
//
// This file is yours: `opbridge codegen` wrote it once, as a start, and leaves it alone from now on.  Generated kernels
// call `launch(name, arguments...)` with the C++ values of the operator, and functions that `size` and `dtype`
// expressions name, which stand in Helpers.h.
//
// As first written, `launch` finds a C function by its name and calls it.  The function gets
//
//     Tensor    const DLTensor*, null where none was given     Tensor[]    struct {const DLTensor* data; int64_t size;}
//     int       int64_t                                        int[]       struct {const int64_t* data; int64_t size;}
//     float     double                                         float[]     struct {const double* data; int64_t size;}
//     bool      bool                                           bool[]      struct {const bool* data; int64_t size;}
//     Scalar    double                                         int?        const int64_t*, null for None; others alike
//     str       const char*                                    ScalarType  int32_t, PyTorch's number of the type
//
// and returns 0, or an error number, which the exception shows.  A library with another convention (a stream, a size of
// scratch memory to be asked for first) needs other text in `launch`, and nothing else.
#pragma once

#include <ATen/DLConvertor.h>
#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>
#include <dlfcn.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

@HELPERS@
namespace @NAMESPACE@ {
namespace launching {

template <class T>
struct List {
  const T* data;
  int64_t size;
};

// Each of these keeps a value alive during a call; `get` is what the function takes.
template <class T>
struct Plain {
  T value;
  T get() const { return value; }
};

template <class T>
struct Optional {
  std::optional<T> value;
  const T* get() const { return value ? &*value : nullptr; }
};

template <class T>
struct Array {
  std::vector<T> values;
  List<T> get() const { return {values.data(), static_cast<int64_t>(values.size())}; }
};

struct Text {
  std::string value;
  const char* get() const { return value.c_str(); }
};

struct TensorValue {
  std::optional<DLTensor> value;
  const DLTensor* get() const { return value ? &*value : nullptr; }
};

struct BoolArray {
  std::unique_ptr<bool[]> values;
  int64_t size;
  List<bool> get() const { return {values.get(), size}; }
};

// DLPack describes a tensor's memory; sizes and strides stay the tensor's own.
inline DLTensor described(const at::Tensor& tensor) {
  return DLTensor{tensor.data_ptr(),
                  at::torchDeviceToDLDevice(tensor.device()),
                  static_cast<int32_t>(tensor.dim()),
                  at::getDLDataType(tensor),
                  const_cast<int64_t*>(tensor.sizes().data()),
                  const_cast<int64_t*>(tensor.strides().data()),
                  0};
}

inline TensorValue held(const at::Tensor& tensor) {
  return {tensor.defined() ? std::optional<DLTensor>(described(tensor)) : std::nullopt};
}

inline TensorValue held(const std::optional<at::Tensor>& tensor) { return held(tensor.value_or(at::Tensor())); }

inline Array<DLTensor> held(const at::ITensorListRef& tensors) {
  Array<DLTensor> array;
  for (const auto& tensor : tensors) array.values.push_back(described(tensor));
  return array;
}

inline Array<DLTensor> held(at::TensorList tensors) { return held(at::ITensorListRef(tensors)); }

template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
Plain<T> held(T value) {
  return {value};
}

inline Plain<double> held(const at::Scalar& value) { return {value.toDouble()}; }
inline Plain<int32_t> held(at::ScalarType type) { return {static_cast<int32_t>(type)}; }
inline Text held(c10::string_view text) { return {std::string(text)}; }
inline Text held(const char* text) { return {text}; }

template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
Optional<T> held(const std::optional<T>& value) {
  return {value};
}

inline Optional<double> held(const std::optional<at::Scalar>& value) {
  return {value ? std::optional<double>(value->toDouble()) : std::nullopt};
}

template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
Array<T> held(const std::vector<T>& values) {
  return {values};
}

template <class T, class = std::enable_if_t<std::is_arithmetic_v<T> && !std::is_same_v<T, bool>>>
Array<T> held(at::ArrayRef<T> values) {
  return {values.vec()};
}

inline Array<int64_t> held(at::OptionalIntArrayRef values) {
  return {values ? values->vec() : std::vector<int64_t>()};
}

inline BoolArray held(at::ArrayRef<bool> values) {
  BoolArray array{std::make_unique<bool[]>(values.size()), static_cast<int64_t>(values.size())};
  std::copy(values.begin(), values.end(), array.values.get());
  return array;
}

template <size_t N>
BoolArray held(const std::array<bool, N>& values) {
  return held(at::ArrayRef<bool>(values.data(), N));
}

// In this library, in those that it is linked with, and then in all that are loaded for everyone.
inline void* function(const char* name) {
  static void* const own = [] {
    Dl_info info;
    const bool known = dladdr(reinterpret_cast<void*>(&function), &info);
    return known ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  }();
  void* found = own ? dlsym(own, name) : nullptr;
  if (!found) found = dlsym(RTLD_DEFAULT, name);
  TORCH_CHECK(found, "no library has the function ", name, "; link or load the one that defines it before the call");
  return found;
}

}  // namespace launching

template <class... Arguments>
void launch(const char* name, const Arguments&... arguments) {
  const auto values = std::make_tuple(launching::held(arguments)...);
  const int status = std::apply(
      [name](const auto&... value) {
        return reinterpret_cast<int (*)(decltype(value.get())...)>(launching::function(name))(value.get()...);
      },
      values);
  TORCH_CHECK(status == 0, name, " failed with ", status);
}

}  // namespace @NAMESPACE@
"""

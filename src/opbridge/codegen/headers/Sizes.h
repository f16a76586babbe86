// Arithmetic on sizes as the `out` rules of operators mean it: numbers may be symbols, and what cannot be is an error.
#ifndef OPBRIDGE_CODEGEN_SIZES_H
#define OPBRIDGE_CODEGEN_SIZES_H

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>
#include <c10/core/SymInt.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Int = c10::SymInt;
using Sizes = ::std::vector<c10::SymInt>;

// What a new tensor is like.
struct Like {
  Sizes sizes;
  at::ScalarType type;
};

inline int64_t concrete(const Int& value) { return value.guard_int(__FILE__, __LINE__); }
inline ::std::vector<int64_t> concrete(const Sizes& values) {
  ::std::vector<int64_t> numbers;
  for (const auto& value : values) numbers.push_back(concrete(value));
  return numbers;
}

inline double real(const Int& value) { return static_cast<double>(concrete(value)); }
inline double real(int64_t value) { return static_cast<double>(value); }
inline double real(double value) { return value; }
inline double real(const at::Scalar& value) { return value.toDouble(); }

inline Sizes sizes_of(const at::Tensor& tensor) { return tensor.sym_sizes().vec(); }
template <class List>
inline Sizes sizes_of(const List& list) {
  return Sizes(list.begin(), list.end());
}

inline ::std::string text(const Sizes& sizes) {
  ::std::ostringstream out;
  out << '[';
  for (size_t i = 0; i < sizes.size(); ++i) out << (i ? ", " : "") << sizes[i];
  out << ']';
  return out.str();
}

// In braces, sizes are found before the type, whose errors come second.
inline Like like(Like described) {
  for (const auto& size : described.sizes) {
    TORCH_CHECK_VALUE(size.maybe_as_int().value_or(0) >= 0, "the shape is ", text(described.sizes),
                      ", and no size can be negative");
  }
  return described;
}

template <class List>
inline auto item(const List& list, const Int& index) {
  const int64_t asked = concrete(index), count = static_cast<int64_t>(list.size());
  const int64_t found = asked < 0 ? asked + count : asked;
  TORCH_CHECK_INDEX(found >= 0 && found < count, "index ", asked, " is out of range, there are ", count);
  return list[static_cast<size_t>(found)];
}

// Python's slices: negative bounds count from the end, and bounds beyond it are brought back.
inline Sizes slice(const Sizes& sizes, ::std::optional<Int> start, ::std::optional<Int> stop, const Int& by) {
  const int64_t count = static_cast<int64_t>(sizes.size()), step = concrete(by);
  TORCH_CHECK_VALUE(step != 0, "a slice's step is zero");
  const int64_t lowest = step < 0 ? -1 : 0, highest = step < 0 ? count - 1 : count;
  const auto bound = [&](const ::std::optional<Int>& given, int64_t otherwise) {
    if (!given) return otherwise;
    const int64_t value = concrete(*given);
    return ::std::clamp(value < 0 ? value + count : value, lowest, highest);
  };
  const int64_t end = bound(stop, step < 0 ? lowest : highest);
  Sizes taken;
  for (int64_t i = bound(start, step < 0 ? highest : lowest); step < 0 ? i > end : i < end; i += step) {
    taken.push_back(sizes[static_cast<size_t>(i)]);
  }
  return taken;
}

inline Sizes joined(Sizes first, const Sizes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

inline Int floor_divide(const Int& a, const Int& b) {
  TORCH_CHECK_VALUE(b != 0, "division by zero");
  const auto x = a.maybe_as_int(), y = b.maybe_as_int();
  if (!x || !y) return a / b;
  return *x / *y - (*x % *y != 0 && (*x < 0) != (*y < 0));
}
inline Int modulo(const Int& a, const Int& b) { return a - floor_divide(a, b) * b; }
inline Int ceil_div(const Int& a, const Int& b) { return Int(0) - floor_divide(Int(0) - a, b); }
inline double divide(double a, double b) {
  TORCH_CHECK_VALUE(b != 0, "division by zero");
  return a / b;
}
inline Int power(Int base, const Int& exponent) {
  int64_t left = concrete(exponent);
  TORCH_CHECK_VALUE(left >= 0, "the power ", left, " is negative");
  Int result(1);
  for (; left > 0; --left) result = result * base;
  return result;
}
inline Int whole(double value) {
  TORCH_CHECK_VALUE(::std::isfinite(value), "int() of a number that is not finite");
  return Int(static_cast<int64_t>(value));
}
inline Int whole(const Int& value) { return value; }
inline Int smaller(const Int& a, const Int& b) { return b < a ? b : a; }
inline Int larger(const Int& a, const Int& b) { return a < b ? b : a; }
inline double smaller(double a, double b) { return b < a ? b : a; }
inline double larger(double a, double b) { return b > a ? b : a; }
inline Int magnitude(const Int& value) { return value < 0 ? Int(0) - value : value; }
inline double magnitude(double value) { return ::std::fabs(value); }

inline Int sum_of(const Sizes& sizes) {
  Int total(0);
  for (const auto& size : sizes) total = total + size;
  return total;
}
inline Int product_of(const Sizes& sizes) {
  Int total(1);
  for (const auto& size : sizes) total = total * size;
  return total;
}

// The tensors that broadcast() and promote() are given; one that is not there adds nothing.
inline void shapes_of(::std::vector<Sizes>& all, const Sizes& sizes) { all.push_back(sizes); }
inline void shapes_of(::std::vector<Sizes>& all, const at::Tensor& tensor) {
  if (tensor.defined()) all.push_back(sizes_of(tensor));
}
inline void shapes_of(::std::vector<Sizes>& all, const ::std::optional<at::Tensor>& tensor) {
  if (tensor) shapes_of(all, *tensor);
}
inline void shapes_of(::std::vector<Sizes>& all, at::TensorList tensors) {
  for (const auto& tensor : tensors) shapes_of(all, tensor);
}
inline void types_of(::std::vector<at::ScalarType>& all, at::ScalarType type) { all.push_back(type); }
inline void types_of(::std::vector<at::ScalarType>& all, const at::Tensor& tensor) {
  if (tensor.defined()) all.push_back(tensor.scalar_type());
}
inline void types_of(::std::vector<at::ScalarType>& all, const ::std::optional<at::Tensor>& tensor) {
  if (tensor) types_of(all, *tensor);
}
inline void types_of(::std::vector<at::ScalarType>& all, at::TensorList tensors) {
  for (const auto& tensor : tensors) types_of(all, tensor);
}

inline Sizes broadcast_two(const Sizes& a, const Sizes& b) {
  const Sizes& longer = a.size() >= b.size() ? a : b;
  const Sizes& shorter = a.size() >= b.size() ? b : a;
  const size_t lead = longer.size() - shorter.size();
  Sizes result(longer.begin(), longer.begin() + static_cast<::std::ptrdiff_t>(lead));
  for (size_t i = 0; i < shorter.size(); ++i) {
    const Int &m = longer[lead + i], &n = shorter[i];
    TORCH_CHECK_VALUE(m == n || n == 1 || m == 1, "shapes ", text(a), " and ", text(b), " do not broadcast");
    result.push_back(m == n || n == 1 ? m : n);
  }
  return result;
}

template <class... Operands>
inline Sizes broadcast(const Operands&... operands) {
  ::std::vector<Sizes> shapes;
  (shapes_of(shapes, operands), ...);
  TORCH_CHECK_VALUE(!shapes.empty(), "broadcast() is given no tensor");
  Sizes result = shapes.front();
  for (size_t i = 1; i < shapes.size(); ++i) result = broadcast_two(result, shapes[i]);
  return result;
}

template <class... Operands>
inline at::ScalarType promote(const Operands&... operands) {
  ::std::vector<at::ScalarType> types;
  (types_of(types, operands), ...);
  TORCH_CHECK_VALUE(!types.empty(), "promote() is given no tensor");
  at::ScalarType result = types.front();
  for (const auto type : types) result = c10::promoteTypes(result, type);
  return result;
}

// An argument that a rule cannot do without.
inline const at::Tensor& given(const at::Tensor& tensor, const char* name) {
  TORCH_CHECK_VALUE(tensor.defined(), "the rule needs argument '", name, "', which is None");
  return tensor;
}
template <class T>
inline const T& given(const ::std::optional<T>& value, const char* name) {
  TORCH_CHECK_VALUE(value.has_value(), "the rule needs argument '", name, "', which is None");
  return *value;
}

}  // namespace

#endif

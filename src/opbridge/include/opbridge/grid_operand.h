// The tensors of a formula's loops: what is read, written or summed, and how for each element type.
#ifndef OPBRIDGE_GRID_OPERAND_H
#define OPBRIDGE_GRID_OPERAND_H

#include <opbridge/element.h>
#include <opbridge/grid_shape.h>
#include <opbridge/half.h>
#include <opbridge/reduce.h>

namespace ob {

struct Operand : GridOperand {
  int32_t sum_bytes;  // size of an element of a sum
  // Write elements of an output from a row's array or from sums, by type.
  void (*scatter)(void* to, int64_t stride, const void* from, int64_t n);
  void (*finish)(void* to, const void* sums, int64_t n, bool adds);
  void (*add)(void* sums, int64_t stride, const void* from, int64_t n);
};

namespace [[gnu::visibility("hidden")]] detail {

template <class T>
void scatter_row(void* to, int64_t stride, const void* from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) static_cast<T*>(to)[i * stride] = static_cast<const T*>(from)[i];
}

template <class T>
void store_row(void* to, int64_t stride, const void* from, int64_t n) {
  const opmath<T>* values = static_cast<const opmath<T>*>(from);
  for (int64_t i = 0; i < n; ++i) static_cast<T*>(to)[i * stride] = static_cast<T>(values[i]);
}

template <class T>
void finish_sums(void* to, const void* sums, int64_t n, bool adds) {
  using F = opmath<T>;
  T* out = static_cast<T*>(to);
  const F* from = static_cast<const F*>(sums);
  if (adds) {
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(static_cast<F>(out[i]) + from[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(from[i]);
  }
}

template <class F>
F sum_of(const F* values, int64_t n) {
  constexpr int64_t lanes = 64 / sizeof(F);
  F lane[lanes] = {}, total = 0;
  int64_t i = 0;
  for (; n - i >= lanes; i += lanes) {
    for (int64_t k = 0; k < lanes; ++k) lane[k] += values[i + k];
  }
  for (; i < n; ++i) total += values[i];
  for (int64_t k = 0; k < lanes; ++k) total += lane[k];
  return total;
}

template <class T>
void add_row(void* sums, int64_t stride, const void* from, int64_t n) {
  using F = opmath<T>;
  F* to = static_cast<F*>(sums);
  const F* values = static_cast<const F*>(from);
  if (stride == 0) {
    *to += sum_of(values, n);
  } else if (stride == 1) {
    OB_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) to[i] += values[i];
  } else {
    for (int64_t i = 0; i < n; ++i) to[i * stride] += values[i];
  }
}

}  // namespace detail

template <class T, class Layout>
Operand reads(const In<T, Layout>& tensor, bool is_dropped = false) {
  return {{&tensor, const_cast<T*>(tensor.data()), Operand::read, is_dropped, sizeof(T)}, 0, nullptr, nullptr, nullptr};
}

template <class T>
Operand writes(const Out<T>& tensor, bool is_dropped = false) {
  return {{&tensor, tensor.data(), Operand::write, is_dropped, sizeof(T)}, 0, detail::scatter_row<T>, nullptr, nullptr};
}

// An output smaller than the grid: values are summed in `opmath<T>` over the axes that it lacks.
template <class T>
Operand sums(const Out<T>& tensor, bool is_dropped = false) {
  return {{&tensor, tensor.data(), Operand::sum, is_dropped, sizeof(T)},
          sizeof(opmath<T>),
          detail::store_row<T>,
          detail::finish_sums<T>,
          detail::add_row<T>};
}

// Clears an output to which parts of a formula add one by one, if it broadcasts along one of these axes.
template <class T>
void clear_shared(const Out<T>& tensor, std::initializer_list<int64_t> axes) {
  for (const int64_t axis : axes) {
    if (!has_axis(tensor, axis)) {
      for (int64_t i = 0; i < tensor.numel(); ++i) tensor.data()[i] = T(0);
    }
  }
}

}  // namespace ob

#endif

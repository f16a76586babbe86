// The loops of a formula: the shape that its tensors broadcast to, taken as rows.
//
//   const ob::Grid grid({-1}, ob::reads(x, weight), ob::writes(out));
//   grid.each_row([=](ob::Row& row) {
//     const T* x_ = row.read<T>(0);
//     ...
//   });
//
// A row is what the reduced axes span; where none is reduced, it is a piece of at most `Grid::tile` elements.  In a
// row, every tensor is an array: memory itself where that lies so, a copy where it is broadcast, strided or summed.
#ifndef OPBRIDGE_GRID_H
#define OPBRIDGE_GRID_H

#include <opbridge/element.h>
#include <opbridge/grid_shape.h>
#include <opbridge/half.h>
#include <opbridge/parallel.h>

namespace ob {

struct Operand : GridOperand {
  int32_t sum_bytes;  // of an element of what is added up
  // Of outputs, by type: elements from a row's array, and from what was summed.
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

// An output smaller than the grid: it gets the sum over what it lacks, of values in `opmath<T>`.
template <class T>
Operand sums(const Out<T>& tensor, bool is_dropped = false) {
  return {{&tensor, tensor.data(), Operand::sum, is_dropped, sizeof(T)},
          sizeof(opmath<T>),
          detail::store_row<T>,
          detail::finish_sums<T>,
          detail::add_row<T>};
}

// Zeros for what parts of a formula add to one by one: an output that broadcasts along one of these axes.
template <class T>
void clear_shared(const Out<T>& tensor, std::initializer_list<int64_t> axes) {
  for (const int64_t axis : axes) {
    if (!has_axis(tensor, axis)) {
      for (int64_t i = 0; i < tensor.numel(); ++i) tensor.data()[i] = T(0);
    }
  }
}

class Row;

// A call's elements on the CPU, as rows that threads take.
class Grid : public GridShape<Operand> {
 public:
  static constexpr int64_t tile = 4096;

  Grid(const Axes& axes, std::initializer_list<Operand> operands);

  // Calls f(row) for each row, on the caller's threads; sums are added up in an order that depends on shapes alone.
  template <class F>
  void each_row(const F& f) const {
    run([](const void* body, Row& row) { (*static_cast<const F*>(body))(row); }, &f);
  }

 private:
  friend class Row;

  // Everything but the body is the same for all kernels: grid_parts.h.
  void run(void (*body)(const void* f, Row& row), const void* f) const;

  int64_t pieces_ = 1;
  bool is_cut_ = false;

  void cut();
  void finish_sums(const Placed& operand, const char* sums, int32_t d, int64_t at) const;
  void settle(Placed& operand);

  // Calls f(offset in memory, place in the row, elements) for each stretch along the last dimension.
  template <class F>
  void each_stretch(const Placed& operand, int64_t row, int64_t begin, int64_t size, const F& f) const {
    const int64_t* strides = operand.strides;
    int64_t index[max_rank], offset = 0;
    locate(strides, row, begin, index, offset);
    offset += operand.origin;
    if (rank_ == n_outer_) return f(offset, int64_t{0}, size);
    const int32_t last = rank_ - 1;
    for (int64_t done = 0; done < size;) {
      const int64_t n = detail::less(size - done, sizes_[last] - index[last]);
      f(offset, done, n);
      done += n;
      offset -= index[last] * strides[last];
      index[last] = 0;
      for (int32_t d = last - 1; d >= n_outer_; --d) {
        offset += strides[d];
        if (++index[d] < sizes_[d]) break;
        offset -= sizes_[d] * strides[d];
        index[d] = 0;
      }
    }
  }

  void locate(const int64_t* strides, int64_t row, int64_t begin, int64_t* index, int64_t& offset) const {
    offset = 0;
    for (int32_t d = rank_ - 1; d >= 0; --d) {
      int64_t& from = d >= n_outer_ ? begin : row;
      // The first dimension of rows, or within a row, has what is left; it may have no elements.
      const bool is_first = d == 0 || d == n_outer_;
      index[d] = is_first || sizes_[d] == 0 ? from : from % sizes_[d];
      if (!is_first && sizes_[d] != 0) from /= sizes_[d];
      offset += index[d] * strides[d];
    }
  }
};

// One row, as the body of a loop sees it.
class Row {
 public:
  static constexpr int32_t most_kept = 32;

  int64_t size() const { return size_; }

  // An input's elements.
  template <class T>
  const T* read(int32_t k) {
    return static_cast<const T*>(elements(k, sizeof(T)));
  }

  // An input's only element.
  template <class T>
  T value(int32_t k) const {
    const Grid::Placed& operand = grid_.operands_[k];
    return static_cast<const T*>(operand.of.data)[offset(operand)];
  }

  // Where an output's elements go; of a sum, what is added to them.
  template <class T>
  T* write(int32_t k) {
    const Grid::Placed& operand = grid_.operands_[k];
    const bool is_stored = operand.of.use == Operand::store && operand.of.sum_bytes == operand.of.bytes;
    if ((operand.of.use == Operand::write || is_stored) && operand.is_array) {
      return static_cast<T*>(operand.of.data) + offset(operand);
    }
    return static_cast<T*>(buffer(k, sizeof(T)));
  }

  // A value of each element that is computed once and used again: the k-th such array.
  template <class T>
  T* keep(int32_t k) {
    if (kept_[k] == nullptr) kept_[k] = scratch<char>(static_cast<int64_t>(sizeof(T)) * detail::more(size_, 1));
    return static_cast<T*>(kept_[k]);
  }

  // An output's only element.
  template <class T>
  void put(int32_t k, T value) {
    const Grid::Placed& operand = grid_.operands_[k];
    if (operand.of.use == Operand::sum) {
      operand.of.add(sums_[k] + offset(operand) * operand.of.sum_bytes, 0, &value, 1);
    } else if (operand.of.use == Operand::store) {
      operand.of.scatter(static_cast<char*>(operand.of.data) + offset(operand) * operand.of.bytes, 0, &value, 1);
    } else {
      static_cast<T*>(operand.of.data)[offset(operand)] = value;
    }
  }

 private:
  friend class Grid;

  Row(const Grid& grid, char* const* sums) : grid_(grid), sums_(sums) {}

  void* buffer(int32_t k, int64_t bytes) {
    if (buffers_[k] == nullptr) {
      buffers_[k] = scratch<char>(bytes * (grid_.is_cut_ ? Grid::tile : detail::more(grid_.length_, 1)));
    }
    used_[k] = true;
    return buffers_[k];
  }

  const void* elements(int32_t k, int64_t bytes);
  int64_t offset(const Grid::Placed& operand) const;
  void start(int64_t r);
  void finish();

  const Grid& grid_;
  char* const* sums_;
  int64_t row_ = 0, begin_ = 0, size_ = 0;
  void* buffers_[Grid::max_operands] = {};
  bool used_[Grid::max_operands] = {};
  void* kept_[most_kept] = {};
};

// What a row comes down to.  A NaN among the values is the answer, as in PyTorch.
template <class F, class Map>
F row_sum(int64_t n, const Map& map) {
  return parallel_reduce(n, F(0), map, [](F a, F b) { return a + b; });
}

template <class F, class Map>
F row_max(int64_t n, const Map& map) {
  constexpr F lowest = -static_cast<F>(__builtin_inf());
  return parallel_reduce(n, lowest, map, [](F a, F b) { return a > b || a != a ? a : b; });
}

template <class F, class Map>
F row_min(int64_t n, const Map& map) {
  constexpr F highest = static_cast<F>(__builtin_inf());
  return parallel_reduce(n, highest, map, [](F a, F b) { return a < b || a != a ? a : b; });
}

// to[i] = map(0) + ... + map(i), added up in double.
template <class F, class Map>
void row_scan(int64_t n, F* to, const Map& map) {
  double total = 0;
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<F>(total += map(i));
}

// to[i] = map(i) + ... + map(n - 1)
template <class F, class Map>
void row_scan_back(int64_t n, F* to, const Map& map) {
  double total = 0;
  for (int64_t i = n - 1; i >= 0; --i) to[i] = static_cast<F>(total += map(i));
}

// The first place of a value that `row_max` or `row_min` gave.
template <class F, class Map>
int64_t row_find(int64_t n, F value, const Map& map) {
  for (int64_t i = 0; i < n; ++i) {
    const F at = map(i);
    if (at == value || (at != at && value != value)) return i;
  }
  return 0;
}

}  // namespace ob

#if !defined(OB_PARTS_LINKED)
#include <opbridge/grid_parts.h>
#endif
#endif

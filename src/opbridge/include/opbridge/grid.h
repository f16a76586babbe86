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

  OB_COLD Grid(const Axes& axes, std::initializer_list<Operand> operands) : GridShape(axes, operands) {
    if (!is_reduced_) cut();
    for (int32_t k = 0; k < n_operands_; ++k) settle(operands_[k]);
  }

  // Calls f(row) for each row, on the caller's threads; sums are added up in an order that depends on shapes alone.
  template <class F>
  void each_row(const F& f) const {
    run([](const void* body, Row& row) { (*static_cast<const F*>(body))(row); }, &f);
  }

 private:
  friend class Row;

  // Everything but the body is the same for all kernels, and compiled once for all types.
  void run(void (*body)(const void* f, Row& row), const void* f) const;

  int64_t pieces_ = 1;
  bool is_cut_ = false;

  // Where no axis is reduced, rows are pieces: of the last dimension where it is long, across dimensions otherwise.
  OB_COLD void cut() {
    is_cut_ = true;
    n_outer_ = 0;
    const int64_t last = rank_ > 0 ? sizes_[rank_ - 1] : 1;
    if (rank_ > 1 && last >= tile / 4) {
      n_outer_ = rank_ - 1;
      pieces_ = (last + tile - 1) / tile;
      length_ = last;
    } else {
      pieces_ = detail::more((total_ + tile - 1) / tile, total_ > 0);
      length_ = total_;
    }
    rows_ = length_ > 0 ? total_ / length_ * pieces_ : 0;
  }

  // What was added up, to where it belongs; the output may have other parts.
  OB_COLD void finish_sums(const Placed& operand, const char* sums, int32_t d, int64_t at) const {
    if (d == rank_) {
      operand.of.finish(static_cast<char*>(operand.of.data) + at * operand.of.bytes, sums + at * operand.of.sum_bytes,
                        1, operand.adds);
    } else if (operand.strides[d] == 0) {
      finish_sums(operand, sums, d + 1, at);
    } else if (d + 1 == rank_ && operand.strides[d] == 1) {
      operand.of.finish(static_cast<char*>(operand.of.data) + at * operand.of.bytes, sums + at * operand.of.sum_bytes,
                        sizes_[d], operand.adds);
    } else {
      for (int64_t i = 0; i < sizes_[d]; ++i) finish_sums(operand, sums, d + 1, at + i * operand.strides[d]);
    }
  }

  OB_COLD void settle(Placed& operand) {
    const int32_t inner = rank_ - n_outer_;
    operand.row_stride = inner == 0 ? 0 : operand.strides[rank_ - 1];
    operand.is_array = inner == 0 || (inner == 1 && operand.strides[rank_ - 1] == 1);
    operand.is_shared = false;
    bool is_whole = true;
    for (int32_t d = 0; d < rank_; ++d) {
      is_whole = is_whole && operand.strides[d] != 0;
      operand.is_shared = operand.is_shared || (operand.strides[d] == 0 && (d < n_outer_ || is_cut_));
    }
    // Nothing is added up where every element of the grid has a place of its own.
    if (operand.of.use == Operand::sum && is_whole && total_ > 0) operand.of.use = Operand::store;
  }

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
      index[d] = d == 0 || d == n_outer_ ? from : from % sizes_[d];
      from /= sizes_[d];
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

  [[gnu::noinline]] const void* elements(int32_t k, int64_t bytes) {
    const Grid::Placed& operand = grid_.operands_[k];
    const char* data = static_cast<const char*>(operand.of.data);
    if (operand.is_array) return data + offset(operand) * bytes;
    char* copy = static_cast<char*>(buffer(k, bytes));
    grid_.each_stretch(operand, row_, begin_, size_, [&](int64_t at, int64_t done, int64_t n) {
      const auto gather = bytes == 8 ? gathered<uint64_t> : bytes == 4 ? gathered<uint32_t> : gathered_short(bytes);
      gather(copy + done * bytes, data + at * bytes, operand.row_stride, n);
    });
    return copy;
  }

  using Gather = void (*)(void* to, const void* from, int64_t stride, int64_t n);

  static Gather gathered_short(int64_t bytes) { return bytes == 2 ? gathered<uint16_t> : gathered<uint8_t>; }

  // Whatever the type is: an element is its bits.
  template <class Bits>
  [[gnu::noinline]] static void gathered(void* to, const void* from, int64_t stride, int64_t n) {
    Bits* copy = static_cast<Bits*>(to);
    const Bits* data = static_cast<const Bits*>(from);
    if (stride == 0) {
      for (int64_t i = 0; i < n; ++i) copy[i] = *data;
    } else {
      for (int64_t i = 0; i < n; ++i) copy[i] = data[i * stride];
    }
  }

  [[gnu::noinline]] int64_t offset(const Grid::Placed& operand) const {
    int64_t index[Grid::max_rank], at = 0;
    grid_.locate(operand.strides, row_, begin_, index, at);
    return at + operand.origin;
  }

  OB_COLD void start(int64_t r) {
    row_ = grid_.is_cut_ ? r / grid_.pieces_ : r;
    begin_ = grid_.is_cut_ ? r % grid_.pieces_ * Grid::tile : 0;
    size_ = grid_.is_cut_ ? detail::less(Grid::tile, grid_.length_ - begin_) : grid_.length_;
  }

  [[gnu::noinline]] void finish() {
    for (int32_t k = 0; k < grid_.n_operands_; ++k) {
      const Grid::Placed& operand = grid_.operands_[k];
      if (operand.of.use == Operand::read || !used_[k]) continue;
      const char* values = static_cast<const char*>(buffers_[k]);
      const bool is_sum = operand.of.use == Operand::sum;
      char* to = is_sum ? sums_[k] : static_cast<char*>(operand.of.data);
      const auto flush = is_sum ? operand.of.add : operand.of.scatter;
      const int32_t step = is_sum ? operand.of.sum_bytes : operand.of.bytes;
      const int32_t from = operand.of.use == Operand::write ? operand.of.bytes : operand.of.sum_bytes;
      grid_.each_stretch(operand, row_, begin_, size_, [&](int64_t at, int64_t done, int64_t n) {
        flush(to + at * step, operand.row_stride, values + done * from, n);
      });
      used_[k] = false;
    }
  }

  const Grid& grid_;
  char* const* sums_;
  int64_t row_ = 0, begin_ = 0, size_ = 0;
  void* buffers_[Grid::max_operands] = {};
  bool used_[Grid::max_operands] = {};
  void* kept_[most_kept] = {};
};

OB_COLD inline void Grid::run(void (*body)(const void* f, Row& row), const void* f) const {
  // Sums that two rows share are added up apart, in pieces whose number follows from the shapes.
  int64_t pieces = 1, shared = 0;
  bool any_shared = false;
  for (int32_t k = 0; k < n_operands_; ++k) {
    if (operands_[k].of.use != Operand::sum || !operands_[k].is_shared) continue;
    any_shared = true;
    shared += operands_[k].of.view->numel();
  }
  const int64_t work = detail::more(total_, 1);
  if (any_shared) {
    pieces = detail::less(detail::less(64, rows_),
                          detail::less(work / default_grain, work / (4 * detail::more(shared, 1))) + 1);
    pieces = detail::more(pieces, 1);
  }

  char* sums[max_operands] = {};
  int64_t bytes[max_operands] = {};
  for (int32_t k = 0; k < n_operands_; ++k) {
    const Placed& operand = operands_[k];
    if (operand.of.use != Operand::sum) continue;
    bytes[k] = operand.of.view->numel() * operand.of.sum_bytes;
    const int64_t copies = operand.is_shared ? pieces : 1;
    sums[k] = scratch<char>(detail::more(bytes[k] * copies, 1));
    memset(sums[k], 0, static_cast<size_t>(bytes[k] * copies));
  }

  const auto rows = [&](int64_t piece, int64_t begin, int64_t end) {
    char* own[max_operands] = {};
    for (int32_t k = 0; k < n_operands_; ++k) {
      own[k] = sums[k] + (operands_[k].is_shared ? piece * bytes[k] : 0);
    }
    Row row(*this, own);
    for (int64_t r = begin; r < end; ++r) {
      row.start(r);
      body(f, row);
      row.finish();
    }
  };
  if (any_shared) {
    parallel_for(
        pieces,
        [&](int64_t first, int64_t last) {
          for (int64_t p = first; p < last; ++p) rows(p, rows_ * p / pieces, rows_ * (p + 1) / pieces);
        },
        1);
  } else {
    const int64_t one = is_cut_ ? detail::less(tile, detail::more(length_, 1)) : detail::more(length_, 1);
    parallel_for(rows_, [&](int64_t begin, int64_t end) { rows(0, begin, end); }, default_grain / one + 1);
  }

  for (int32_t k = 0; k < n_operands_; ++k) {
    const Placed& operand = operands_[k];
    if (operand.of.use != Operand::sum) continue;
    for (int64_t p = 1; operand.is_shared && p < pieces; ++p) {
      operand.of.add(sums[k], 1, sums[k] + p * bytes[k], operand.of.view->numel());
    }
    finish_sums(operand, sums[k], 0, operand.origin);
  }
}

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
#endif

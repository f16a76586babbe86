// The rows of a formula's loops: what a thread takes at a time, and the arrays that its body works on.
#ifndef OPBRIDGE_GRID_ROWS_H
#define OPBRIDGE_GRID_ROWS_H

#include <opbridge/grid_operand.h>
#include <opbridge/parallel.h>

namespace ob {

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

  // Everything except the body is the same for all kernels: grid_parts.h.
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
      // The first dimension, of rows or within a row, has the remaining elements, possibly none.
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

  // Memory for an output's elements; for a sum, the values to add to them.
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

}  // namespace ob

#endif

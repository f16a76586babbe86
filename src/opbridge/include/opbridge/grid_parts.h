// The part of grid.h's rows that is equal in all formulas: included with the header, or compiled once and linked
// (OB_PARTS_LINKED).
#ifndef OPBRIDGE_GRID_PARTS_H
#define OPBRIDGE_GRID_PARTS_H

#include <opbridge/grid_rows.h>
#include <opbridge/kernel.h>

// A part that runs for each row.
#if defined(OB_PARTS_HERE)
#define OB_WARM_PART __attribute__((noinline))
#else
#define OB_WARM_PART __attribute__((noinline)) inline
#endif

namespace ob {

OB_PART Grid::Grid(const Axes& axes, std::initializer_list<Operand> operands) : GridShape(axes, operands) {
  if (!is_reduced_) cut();
  for (int32_t k = 0; k < n_operands_; ++k) settle(operands_[k]);
}

// Without reduced axes, rows are pieces of the last dimension if it is long, and span dimensions otherwise.
OB_PART void Grid::cut() {
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

// Writes sums to their places; the output may have other parts.
OB_PART void Grid::finish_sums(const Placed& operand, const char* sums, int32_t d, int64_t at) const {
  if (d == rank_) {
    operand.of.finish(static_cast<char*>(operand.of.data) + at * operand.of.bytes, sums + at * operand.of.sum_bytes, 1,
                      operand.adds);
  } else if (operand.strides[d] == 0) {
    finish_sums(operand, sums, d + 1, at);
  } else if (d + 1 == rank_ && operand.strides[d] == 1) {
    operand.of.finish(static_cast<char*>(operand.of.data) + at * operand.of.bytes, sums + at * operand.of.sum_bytes,
                      sizes_[d], operand.adds);
  } else {
    for (int64_t i = 0; i < sizes_[d]; ++i) finish_sums(operand, sums, d + 1, at + i * operand.strides[d]);
  }
}

OB_PART void Grid::settle(Placed& operand) {
  const int32_t inner = rank_ - n_outer_;
  operand.row_stride = inner == 0 ? 0 : operand.strides[rank_ - 1];
  operand.is_array = inner == 0 || (inner == 1 && operand.strides[rank_ - 1] == 1);
  operand.is_shared = false;
  bool is_whole = true;
  for (int32_t d = 0; d < rank_; ++d) {
    is_whole = is_whole && operand.strides[d] != 0;
    operand.is_shared = operand.is_shared || (operand.strides[d] == 0 && (d < n_outer_ || is_cut_));
  }
  // Nothing is summed if every element of the grid has a separate place.
  if (operand.of.use == Operand::sum && is_whole && total_ > 0) operand.of.use = Operand::store;
}

OB_PART void Grid::run(void (*body)(const void* f, Row& row), const void* f) const {
  // Rows that share a sum add to separate pieces, whose number depends only on the shapes: results are reproducible.
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

namespace [[gnu::visibility("hidden")]] detail {

using Gather = void (*)(void* to, const void* from, int64_t stride, int64_t n);

// For any type: an element is its bits.
template <class Bits>
__attribute__((noinline)) void gathered(void* to, const void* from, int64_t stride, int64_t n) {
  Bits* copy = static_cast<Bits*>(to);
  const Bits* data = static_cast<const Bits*>(from);
  if (stride == 0) {
    for (int64_t i = 0; i < n; ++i) copy[i] = *data;
  } else {
    for (int64_t i = 0; i < n; ++i) copy[i] = data[i * stride];
  }
}

inline Gather gather_of(int64_t bytes) {
  if (bytes == 8) return gathered<uint64_t>;
  if (bytes == 4) return gathered<uint32_t>;
  return bytes == 2 ? gathered<uint16_t> : gathered<uint8_t>;
}

}  // namespace detail

OB_WARM_PART const void* Row::elements(int32_t k, int64_t bytes) {
  const Grid::Placed& operand = grid_.operands_[k];
  const char* data = static_cast<const char*>(operand.of.data);
  if (operand.is_array) return data + offset(operand) * bytes;
  char* copy = static_cast<char*>(buffer(k, bytes));
  grid_.each_stretch(operand, row_, begin_, size_, [&](int64_t at, int64_t done, int64_t n) {
    detail::gather_of(bytes)(copy + done * bytes, data + at * bytes, operand.row_stride, n);
  });
  return copy;
}

OB_WARM_PART int64_t Row::offset(const Grid::Placed& operand) const {
  int64_t index[Grid::max_rank], at = 0;
  grid_.locate(operand.strides, row_, begin_, index, at);
  return at + operand.origin;
}

OB_PART void Row::start(int64_t r) {
  row_ = grid_.is_cut_ ? r / grid_.pieces_ : r;
  begin_ = grid_.is_cut_ ? r % grid_.pieces_ * Grid::tile : 0;
  size_ = grid_.is_cut_ ? detail::less(Grid::tile, grid_.length_ - begin_) : grid_.length_;
}

OB_WARM_PART void Row::finish() {
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

}  // namespace ob

#undef OB_WARM_PART
#endif

// The shape that a formula's tensors broadcast to, and the layout of each tensor in it.
//
// Dimensions are in two groups: those before `n_outer_` count rows, those from there on are walked within a row.
#ifndef OPBRIDGE_GRID_SHAPE_H
#define OPBRIDGE_GRID_SHAPE_H

#include <opbridge/tensor.h>

#include <initializer_list>

namespace ob {

// The axes a formula reduces, as it counts them; `Axes::all()`, or none.
struct Axes {
  int64_t items[8] = {};
  int32_t count = 0;
  bool is_all = false;

  Axes() = default;
  Axes(std::initializer_list<int64_t> axes) {
    for (const int64_t axis : axes) items[count++] = axis;
  }
  static Axes all() {
    Axes axes;
    axes.is_all = true;
    return axes;
  }
};

namespace [[gnu::visibility("hidden")]] detail {

inline int64_t more(int64_t a, int64_t b) { return a > b ? a : b; }
inline int64_t less(int64_t a, int64_t b) { return a < b ? a : b; }

}  // namespace detail

// A slice of an axis, which is counted from the end: `count` places from `start`, every `step`-th of `whole`.
struct Cut {
  int64_t axis, start, count, step, whole;
};

// The use of a tensor by a grid, on any device.
struct GridOperand {
  enum Use { read, write, sum, store };  // `store` is a sum of one value per element
  static constexpr int32_t max_cuts = 4;

  const TensorView* view;
  void* data;
  Use use;
  bool is_dropped;  // it lacks the reduced axes: one value per row
  int32_t bytes;    // of an element
  Cut cuts[max_cuts] = {};
  int32_t n_cuts = 0;
};

// The part of a tensor; all of an axis of size 1, which broadcasts.
template <class Of>
Of cut(Of operand, const Cut& part) {
  if (operand.n_cuts == GridOperand::max_cuts) fail("a formula slices a tensor along at most 4 axes");
  operand.cuts[operand.n_cuts++] = part;
  return operand;
}

// Returns whether a tensor has more than one place along an axis, which is counted from the end.
inline bool has_axis(const TensorView& view, int64_t axis) { return -axis <= view.ndim() && view.size(axis) != 1; }

// The size along an axis, counted from the end, of what these tensors broadcast to.
OB_COLD inline int64_t broadcast_size(int64_t axis, std::initializer_list<const TensorView*> views) {
  int64_t size = 1;
  for (const TensorView* view : views) {
    if (has_axis(*view, axis)) size = view->size(axis);
  }
  return size;
}

OB_COLD inline void check_divides(int64_t size, int64_t parts) {
  if (size % parts != 0) fail("a formula takes ", parts, " equal parts of an axis of size ", size);
}

// A summed value must have the full size along its reduced axes: a broadcast one would be counted several times.
OB_COLD inline void check_spans(const Axes& axes, std::initializer_list<const TensorView*> added,
                                std::initializer_list<const TensorView*> all) {
  int64_t rank = 0;
  for (const TensorView* view : all) rank = detail::more(rank, view->ndim());
  for (int64_t axis = -rank; axis < 0; ++axis) {
    bool is_meant = axes.is_all;
    for (int32_t a = 0; a < axes.count; ++a) is_meant |= axis == axes.items[a] - (axes.items[a] < 0 ? 0 : rank);
    const int64_t size = broadcast_size(axis, added), whole = broadcast_size(axis, all);
    if (!is_meant || size == whole) continue;
    fail("a formula adds up along axis ", axis, " what has size ", size, " there, next to tensors of size ", whole,
         ", and would count it ", whole, " times; make it two operators, or expand it before the call");
  }
}

// `Of` is a GridOperand with more about its device.
template <class Of>
class GridShape {
 public:
  static constexpr int32_t max_rank = 24;
  static constexpr int32_t max_operands = 24;

  int64_t numel() const { return total_; }
  int64_t rows() const { return rows_; }

  // Rejects empty axes, which have no largest and no first element.
  OB_COLD void needs_elements(const char* what) const {
    if (is_reduced_ && length_ == 0) {
      fail(what, "() takes an axis that has elements, and here it has none; ask for its size before the call");
    }
  }

 protected:
  struct Placed {
    Of of;
    int64_t strides[max_rank];
    int64_t origin;      // where its part begins
    bool adds;           // a sum that other parts add to as well
    int64_t row_stride;  // along a row, if it has one
    bool is_array;       // its rows are contiguous in memory
    bool is_shared;      // a sum to which two rows may add
  };

  OB_COLD GridShape(const Axes& axes, std::initializer_list<Of> operands) : is_reduced_(axes.is_all || axes.count > 0) {
    for (const Of& operand : operands) operands_[n_operands_++].of = operand;
    broadcast_shapes(axes);
    for (int32_t k = 0; k < n_operands_; ++k) place(operands_[k]);
    rows_first();
    collapse();
  }

  bool is_reduced_;
  bool ends_in_row_ = false;  // the last dimension that has more than one element is walked within a row
  int32_t rank_ = 0, n_outer_ = 0, n_operands_ = 0;
  int64_t sizes_[max_rank];
  bool is_inner_[max_rank] = {};
  int64_t rows_ = 1, length_ = 1, total_ = 1;
  Placed operands_[max_operands];

 private:
  OB_COLD void broadcast_shapes(const Axes& axes) {
    bool any_read = false;
    for (int32_t k = 0; k < n_operands_; ++k) {
      const Of& operand = operands_[k].of;
      any_read = any_read || operand.use == GridOperand::read;
      if (!operand.is_dropped) rank_ = static_cast<int32_t>(detail::more(rank_, operand.view->ndim()));
    }
    if (rank_ > max_rank) fail("a formula takes tensors of at most ", int64_t{max_rank}, " dimensions");
    for (int32_t d = 0; d < rank_; ++d) sizes_[d] = 1;
    for (int32_t d = 0; d < rank_; ++d) is_inner_[d] = axes.is_all;
    for (int32_t a = 0; a < axes.count; ++a) {
      // An integer index counts as an axis, as in PyTorch.
      if (rank_ == 0 && (axes.items[a] == 0 || axes.items[a] == -1)) continue;
      const int64_t axis = axes.items[a] < 0 ? axes.items[a] + rank_ : axes.items[a];
      if (axis < 0 || axis >= rank_) fail("axis ", axes.items[a], " does not exist in ", int64_t{rank_}, " dimensions");
      is_inner_[axis] = true;
    }
    for (int32_t k = 0; k < n_operands_; ++k) {
      const Of& operand = operands_[k].of;
      if (operand.use != GridOperand::read && any_read) continue;
      each_dimension(operand, [&](int32_t at, int64_t size, int64_t) {
        if (size != 1 && sizes_[at] != 1 && sizes_[at] != size) {
          fail("a tensor of shape ", operand.view->shape(), " does not broadcast with the others: ", size, " is not ",
               sizes_[at]);
        }
        if (size != 1) sizes_[at] = size;
      });
    }
  }

  // Calls f(dimension of the grid, size, stride) for every dimension of a tensor, which is aligned with the last ones.
  template <class F>
  void each_dimension(const Of& operand, const F& f) const {
    const TensorView& view = *operand.view;
    int32_t at = rank_;
    for (int64_t d = view.ndim() - 1; d >= 0; --d) {
      --at;
      while (operand.is_dropped && at >= 0 && is_inner_[at]) --at;
      if (at < 0) {
        if (view.size(d) == 1) continue;
        fail("a tensor of shape ", view.shape(), " has more dimensions than what it is combined with");
      }
      int64_t size = view.size(d), stride = view.stride(d);
      if (const Cut* part = part_of(operand, d - view.ndim(), size)) {
        size = part->count;
        stride *= part->step;
      }
      f(at, size, stride);
    }
  }

  // The places of a dimension that are meant; null: all.
  OB_COLD static const Cut* part_of(const Of& operand, int64_t axis, int64_t size) {
    for (int32_t c = 0; c < operand.n_cuts; ++c) {
      const Cut& part = operand.cuts[c];
      if (part.axis != axis || (size == 1 && part.whole != 1)) continue;
      const int64_t last = part.start + (part.count - 1) * part.step;
      const bool is_inside = part.count == 0 || (part.start >= 0 && part.start < size && last >= 0 && last < size);
      if (size != part.whole || part.count < 0 || !is_inside) {
        fail("a tensor of shape ", operand.view->shape(), " has no ", part.count, " places from ", part.start,
             " on along axis ", axis);
      }
      return &part;
    }
    return nullptr;
  }

  static int64_t origin_of(const Of& operand) {
    int64_t origin = 0;
    const TensorView& view = *operand.view;
    for (int64_t d = 0; d < view.ndim(); ++d) {
      if (const Cut* part = part_of(operand, d - view.ndim(), view.size(d))) origin += part->start * view.stride(d);
    }
    return origin;
  }

  OB_COLD void place(Placed& operand) const {
    for (int32_t d = 0; d < rank_; ++d) operand.strides[d] = 0;
    operand.origin = origin_of(operand.of);
    operand.adds = false;
    for (int32_t c = 0; c < operand.of.n_cuts; ++c) {
      const Cut& part = operand.of.cuts[c];
      operand.adds = operand.adds || !has_axis(*operand.of.view, part.axis) || part.whole == 1;
    }
    each_dimension(operand.of, [&](int32_t at, int64_t size, int64_t stride) {
      if (size == sizes_[at]) {
        operand.strides[at] = size == 1 ? 0 : stride;
      } else if (size != 1) {
        fail("a tensor of shape ", operand.of.view->shape(), " does not fit the others: expected ", sizes_[at]);
      }
    });
    if (operand.of.use != GridOperand::write || operand.of.view->numel() == 0) return;
    for (int32_t d = 0; d < rank_; ++d) {
      const bool is_lost = is_inner_[d] && one_a_row(operand);
      if (sizes_[d] > 1 && operand.strides[d] == 0 && !is_lost) {
        fail("an output of shape ", operand.of.view->shape(), " is smaller than what is computed for it");
      }
    }
  }

  OB_COLD bool one_a_row(const Placed& operand) const {
    if (operand.of.is_dropped) return true;
    bool any = false;
    for (int32_t d = 0; d < rank_; ++d) any |= is_inner_[d] && operand.strides[d] != 0;
    return !any;
  }

  OB_COLD void rows_first() {
    for (int32_t d = 0; d < rank_; ++d) {
      if (sizes_[d] != 1) ends_in_row_ = is_inner_[d];
    }
    int32_t order[max_rank], n = 0;
    for (int32_t d = 0; d < rank_; ++d) {
      if (!is_inner_[d]) order[n++] = d;
    }
    n_outer_ = n < rank_ ? n : 0;
    for (int32_t d = 0; d < rank_; ++d) {
      if (is_inner_[d]) order[n++] = d;
    }
    permute(sizes_, order);
    for (int32_t k = 0; k < n_operands_; ++k) permute(operands_[k].strides, order);
  }

  OB_COLD void permute(int64_t* values, const int32_t* order) const {
    int64_t old[max_rank];
    for (int32_t d = 0; d < rank_; ++d) old[d] = values[d];
    for (int32_t d = 0; d < rank_; ++d) values[d] = old[order[d]];
  }

  // Joins dimensions that every tensor walks as one, and leaves out those of size 1.
  OB_COLD void collapse() {
    int32_t kept = 0, outer = 0;
    for (int32_t d = 0; d < rank_; ++d) {
      if (d == n_outer_) outer = kept;
      total_ *= sizes_[d];
      (d < n_outer_ ? rows_ : length_) *= sizes_[d];
      if (sizes_[d] == 1) continue;
      const int32_t first = d < n_outer_ ? 0 : outer;
      bool joins = kept > first;
      for (int32_t k = 0; joins && k < n_operands_; ++k) {
        const int64_t* strides = operands_[k].strides;
        joins = strides[kept - 1] == strides[d] * sizes_[d];
      }
      const int32_t to = joins ? kept - 1 : kept;
      sizes_[to] = joins ? sizes_[to] * sizes_[d] : sizes_[d];
      for (int32_t k = 0; k < n_operands_; ++k) operands_[k].strides[to] = operands_[k].strides[d];
      kept = to + 1;
    }
    n_outer_ = n_outer_ == rank_ ? kept : outer;
    rank_ = kept;
  }
};

}  // namespace ob
#endif

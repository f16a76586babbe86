// The loops of a formula on an Ascend NPU: rows of the shape that its tensors broadcast to, a share for each block.
//
//   template <class T>
//   __global__ __aicore__ void doubled_rows(GM_ADDR x_data, GM_ADDR out_data, GM_ADDR workspace, ob::npu::View<2> view)
//   {
//     ob::npu::Rows<2, 2, 0> rows(view, workspace, {x_data, out_data});
//     const auto x = rows.vector(0), v = rows.vector(1);
//     for (; rows.is_left(); rows.next()) {
//       for (rows.first(); rows.has_step(); rows.step()) {
//         const uint32_t n = rows.count();
//         rows.read<T>(0, x);
//         Muls(v, x, 2.0f, n);
//         rows.write<T>(1, v);
//       }
//     }
//   }
//   ob::NpuGrid<2> grid({}, {ob::reads(x), ob::writes(out)}, {2, 0});
//   using U = ob::npu::Element<T>;
//   if (grid.has_work()) doubled_rows<U><<<grid.blocks(), nullptr, context.stream()>>>(…, grid.workspace(context),
//   grid.view());
#ifndef OPBRIDGE_NPU_GRID_H
#define OPBRIDGE_NPU_GRID_H

#include <opbridge/element.h>
#include <opbridge/grid_shape.h>
#include <opbridge/launch.h>
#include <opbridge/npu_rows.h>

// Blocks that wait for each other have to run at the same time: no more than the chip has vector cores.
#ifndef OB_NPU_BLOCKS
#define OB_NPU_BLOCKS 40
#endif

namespace ob {

template <class T, class Layout>
GridOperand reads(const In<T, Layout>& tensor, bool is_dropped = false) {
  return {&tensor, const_cast<T*>(tensor.data()), GridOperand::read, is_dropped, sizeof(T)};
}

template <class T>
GridOperand writes(const Out<T>& tensor, bool is_dropped = false) {
  return {&tensor, tensor.data(), GridOperand::write, is_dropped, sizeof(T)};
}

// An output smaller than the grid: it gets the sum over what it lacks.
template <class T>
GridOperand sums(const Out<T>& tensor, bool is_dropped = false) {
  return {&tensor, tensor.data(), GridOperand::sum, is_dropped, sizeof(T)};
}

// For tensors of T.
template <class T>
OB_COLD void check_npu_type() {
  if (std::is_same<T, double>::value) {
    fail("no formula computes in float64 on an NPU, whose vector unit has float32: convert the tensors, or leave them ",
         "on the CPU");
  }
}

// The memory of a kernel in the unified buffer, in addition to its queues.
struct NpuNeeds {
  int64_t vectors, masks;
  bool has_functions;  // of Ascend C's libraries, which take what is left
  int64_t scans = 0;   // sums of what comes before each element
};

// The host's side: how rows are shared among blocks, and how much of them a vector holds.
template <int N>
class NpuGrid : public GridShape<GridOperand> {
 public:
  OB_COLD NpuGrid(const Axes& axes, std::initializer_list<GridOperand> operands, const NpuNeeds& needs)
      : GridShape(axes, operands), needs_(needs) {
    if (!is_reduced_) n_outer_ = rank_;
    view_.is_across = !is_reduced_ || !ends_in_row_;
    settle_lanes();
    divide();
    settle_sums();
  }

  int64_t length() const { return length_; }
  uint32_t blocks() const { return static_cast<uint32_t>(blocks_); }
  bool has_work() const { return view_.groups > 0 || floats_ > 0; }
  const npu::View<N>& view() const { return view_; }
  GM_ADDR workspace(const Context& context) const {
    return static_cast<GM_ADDR>(launch::workspace(context, detail::more(floats_, 8) * int64_t{sizeof(float)}));
  }

 private:
  static constexpr int64_t unified_buffer = 184 << 10;  // less than any chip has
  static constexpr int64_t for_functions = 32 << 10;
  static constexpr int64_t step = 256;  // lanes: their masks are whole units of 32 bytes
  static constexpr int64_t fewest = 1024;

  // The last dimension is that of the lanes; all others count groups and steps.
  OB_COLD void settle_lanes() {
    const int32_t lane = view_.is_across ? n_outer_ - 1 : rank_ - 1;
    view_.lanes = total_ == 0 && !view_.is_across ? 0 : lane < 0 ? 1 : sizes_[lane];
    for (int32_t d = 0; d < rank_; ++d) {
      if (d == lane) continue;
      if (view_.rank == npu::max_rank) {
        fail("a formula on an NPU takes tensors of at most ", int64_t{npu::max_rank + 1},
             " dimensions that do not join");
      }
      view_.n_outer += d < n_outer_;
      view_.sizes[view_.rank] = sizes_[d];
      for (int32_t k = 0; k < N; ++k) view_.operands[k].strides[view_.rank] = operands_[k].strides[d];
      ++view_.rank;
    }
    for (int32_t k = 0; k < N; ++k) settle_lane(operands_[k], view_.operands[k], lane);
  }

  OB_COLD void settle_lane(const Placed& operand, typename npu::View<N>::Placed& placed, int32_t lane) {
    placed.numel = operand.of.view->numel();
    placed.lane_stride = lane < 0 ? 0 : operand.strides[lane];
    const bool is_strided = placed.lane_stride < 0 || placed.lane_stride > 1;
    const int64_t bytes = placed.lane_stride * operand.of.bytes;
    if (is_strided && (operand.of.bytes == 1 || operand.of.use != GridOperand::read || bytes < 0 || bytes >> 32 != 0)) {
      fail("a formula on an NPU takes no tensor of shape ", operand.of.view->shape(), " whose last elements lie ",
           bytes, " bytes apart: copy it first, as contiguous() does");
    }
    view_.is_strided = view_.is_strided || is_strided;
  }

  OB_COLD int64_t most_lanes() const {
    const int64_t loaded = view_.is_strided ? 32 : int64_t{sizeof(float)};
    const int64_t lane = 2 * loaded + 2 * 4 + 4 * (needs_.vectors + 1) + (needs_.masks + 31) / 8 +
                         (view_.is_strided + 2 * (needs_.scans > 0)) * 4;
    const int64_t masks = needs_.masks > 0 ? 2 : 0;
    const int64_t room = unified_buffer - 1024 - (needs_.has_functions ? for_functions : 0);
    const int64_t lanes = detail::less(room / (lane + masks), view_.is_strided ? 4095 : 16384) / step * step;
    if (lanes == 0) fail("a formula with ", needs_.vectors, " parts at a time does not fit into an NPU's local memory");
    return lanes;
  }

  // Chooses the lanes of a vector so that all blocks have work, and divides the work.
  OB_COLD void divide() {
    int64_t outer = 1, pieces = 1;
    for (int32_t d = 0; d < view_.rank; ++d) (d < view_.n_outer ? outer : pieces) *= view_.sizes[d];
    const bool is_empty = total_ == 0 && (!is_reduced_ || rows_ == 0);
    const int64_t most = most_lanes();
    const auto shared = [&](int64_t lanes) {
      const int64_t even = (lanes + OB_NPU_BLOCKS - 1) / OB_NPU_BLOCKS;
      return detail::less(most, detail::more((even + step - 1) / step * step, fewest));
    };
    // Only one block knows the elements before an element.
    const bool may_share = is_reduced_ && needs_.scans == 0;
    view_.is_whole = may_share && outer * 2 <= OB_NPU_BLOCKS;
    int64_t tile = most;
    if (view_.is_across ? outer < OB_NPU_BLOCKS : view_.is_whole)
      tile = shared(view_.lanes * (view_.is_across ? outer : pieces));
    view_.tile = static_cast<uint32_t>(tile);
    view_.loaded_bytes = view_.tile * (view_.is_strided ? 32u : 4u);
    view_.tiles = (view_.lanes + tile - 1) / tile;
    view_.groups = is_empty ? 0 : view_.is_across ? outer * view_.tiles : outer;
    view_.steps = total_ == 0 ? 0 : view_.is_across ? pieces : pieces * view_.tiles;
    view_.is_whole = may_share && view_.groups * 2 <= OB_NPU_BLOCKS && view_.steps > 1;
    blocks_ = detail::more(detail::less(view_.is_whole ? view_.steps : view_.groups, OB_NPU_BLOCKS), 1);
    if (view_.is_whole) take(view_.exchange, 2 * blocks_ * tile);
    if (view_.steps > 1) take(view_.kept, needs_.scans * blocks_ * view_.steps * tile);
  }

  // Sums whose elements more than one step adds to get a place of their own for each block.
  OB_COLD void settle_sums() {
    for (int32_t k = 0; k < N; ++k) {
      typename npu::View<N>::Placed& placed = view_.operands[k];
      if (operands_[k].of.use != GridOperand::sum || placed.numel == 0) continue;
      placed.is_shared = total_ == 0 || (placed.lane_stride == 0 && view_.tiles > 1);
      for (int32_t d = 0; d < view_.rank; ++d) {
        const bool is_passed_over = operands_[k].of.is_dropped && d >= view_.n_outer;
        if (placed.strides[d] == 0 && !is_passed_over) placed.is_shared = true;
      }
      placed.part_stride = (placed.numel + 7) / 8 * 8;
      if (placed.is_shared) take(placed.parts, blocks_ * placed.part_stride);
    }
  }

  OB_COLD void take(int64_t& place, int64_t floats) {
    place = floats_;
    floats_ += floats;
  }

  NpuNeeds needs_;
  npu::View<N> view_ = {};
  int64_t blocks_ = 1, floats_ = 0;
};

}  // namespace ob
#endif

// The loops of a formula on a GPU: rows of the shape that its tensors broadcast to, each for a team of threads.
//
//   template <class T>
//   __global__ void squares(const __grid_constant__ ob::GridView grid) {
//     using F = ob::opmath<T>;
//     __shared__ ob::Exchange exchange;
//     for (ob::GridRow<T> row(grid, exchange); row.is_left(); row.next()) {
//       const auto x = row.template read<T>(0);
//       const F sum = row.sum([=](F x) { return x * x; }, x);
//       row.put(1, T(sum));
//     }
//   }
//   const ob::CudaGrid grid({-1}, {ob::reads(x), ob::writes(out, true)});
//   grid.template launch<T>(squares<T>);
//
// A team is some lanes of a warp, a block, or the whole launch, depending on the length and number of rows.  Adjacent
// rows in memory belong to adjacent threads.  Elements move in packs of 16 bytes if memory allows it.  Sums over rows
// are added by each team in separate memory, and then in the order of teams.
#ifndef OPBRIDGE_CUDA_GRID_H
#define OPBRIDGE_CUDA_GRID_H

#include <opbridge/cuda_row.h>
#include <opbridge/grid_shape.h>

namespace ob {

struct Operand : GridOperand {
  // For sums: adds the values of the teams for each element.
  void (*finish)(void* to, const void* parts, int64_t n_parts, int64_t stride, int64_t n, bool adds, Stream stream);
};
namespace [[gnu::visibility("hidden")]] detail {

template <class F, class U>
__global__ void add_parts(const F* parts, int64_t n_parts, int64_t stride, int64_t n, U* to, int width, bool adds)
    OB_GLOBAL_BODY({
      const int64_t i = (blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x) / width;
      const int64_t first = threadIdx.x % static_cast<unsigned>(width);
      F sum = F(0);
      for (int64_t part = first; i < n && part < n_parts; part += width) sum += parts[part * stride + i];
      for (int distance = width / 2; distance > 0; distance /= 2) sum += across(sum, distance);
      if (i < n && first == 0) to[i] = static_cast<U>(adds ? static_cast<F>(to[i]) + sum : sum);
    })

        template <class U>
        void finish_sums(void* to, const void* parts, int64_t n_parts, int64_t stride, int64_t n, bool adds,
                         Stream stream) {
  using F = opmath<U>;
  const F* from = static_cast<const F*>(parts);
  U* out = static_cast<U*>(to);
  int width = n < 4096 && n_parts > 8 ? 32 : 1;  // few sums of many parts: a warp for each
  void* arguments[] = {&from, &n_parts, &stride, &n, &out, &width, &adds};
  const int64_t blocks = (n * width - 1) / GridView::block + 1;
  check_cuda(cudaLaunchKernel(add_parts<F, U>, dim3(static_cast<unsigned>(blocks)), dim3(GridView::block), arguments, 0,
                              stream),
             "the sums of a formula");
}

}  // namespace detail

template <class T, class Layout>
Operand reads(const In<T, Layout>& tensor, bool is_dropped = false) {
  return {{&tensor, const_cast<T*>(tensor.data()), Operand::read, is_dropped, sizeof(T)}, nullptr};
}

template <class T>
Operand writes(const Out<T>& tensor, bool is_dropped = false) {
  return {{&tensor, tensor.data(), Operand::write, is_dropped, sizeof(T)}, nullptr};
}

// An output smaller than the grid: it gets the sum over what it lacks, of values in `opmath<T>`.
template <class T>
Operand sums(const Out<T>& tensor, bool is_dropped = false) {
  return {{&tensor, tensor.data(), Operand::sum, is_dropped, sizeof(T)}, detail::finish_sums<T>};
}

// Zeros for what parts of a formula add to.
template <class T>
void clear_shared(const Out<T>& tensor, std::initializer_list<int64_t>) {
  detail::check_cuda(cudaMemsetAsync(tensor.data(), 0, static_cast<size_t>(tensor.numel()) * sizeof(T),
                                     detail::Frame::of("a formula").stream()),
                     "a formula");
}

// The host's side: how rows are shared among threads, and the launch.
class CudaGrid : public GridShape<Operand> {
 public:
  // A kernel keeps `n_kept` values of each element.
  OB_COLD CudaGrid(const Axes& axes, std::initializer_list<Operand> operands, int64_t n_kept = 0)
      : GridShape(axes, operands), n_kept_(n_kept) {
    if (!is_reduced_) walk_last_dimension();
    if (rank_ > GridView::max_rank) {
      fail("a formula on a GPU takes tensors of at most ", int64_t{GridView::max_rank}, " dimensions that do not join");
    }
    view_.rows = rows_;
    view_.length = length_;
    view_.numel = total_;
    view_.rank = rank_;
    view_.n_outer = n_outer_;
    for (int32_t d = 0; d < rank_; ++d) view_.sizes[d] = sizes_[d];
    for (int32_t k = 0; k < n_operands_; ++k) settle(operands_[k], view_.operands[k]);
  }

  // Runs a kernel for tensors of T on the caller's stream, without waiting.
  template <class T, class... P>
  void launch(void (*kernel)(GridView, P...), std::common_type_t<P>... attributes) {
    constexpr int64_t pack = 16 / sizeof(T);
    const Stream stream = detail::Frame::of("a formula").stream();
    view_.is_packed = can_pack(pack);
    int resident = 1;
    detail::check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, GridView::block, 0),
                       "a formula");
    const int64_t blocks = share(view_.is_packed ? pack : 1, resident);
    const int64_t teams = view_.is_whole ? 1 : detail::more(blocks * view_.rows_in_block, 1);
    for (int32_t k = 0; k < n_operands_; ++k) lend_parts<T>(k, teams, stream);
    if (n_kept_ > 0) {
      view_.kept_pitch = (length_ + pack - 1) / pack * pack;
      view_.kept_array = teams * view_.kept_pitch;
      view_.kept = scratch<opmath<T>>(detail::more(n_kept_ * view_.kept_array, 1));
    }
    if (rows_ > 0) {
      void* arguments[] = {&view_, &attributes...};
      const dim3 grid(static_cast<unsigned>(blocks)), block(GridView::block);
      const bool meets = view_.is_whole && meets_ && blocks > 1;
      detail::check_cuda(meets ? cudaLaunchCooperativeKernel(kernel, grid, block, arguments, 0, stream)
                               : cudaLaunchKernel(kernel, grid, block, arguments, 0, stream),
                         "a formula");
    }
    for (int32_t k = 0; k < n_operands_; ++k) {
      const GridView::Placed& placed = view_.operands[k];
      const int64_t n = operands_[k].of.view->numel();
      if (placed.parts == nullptr || n == 0) continue;
      // Keep the values that other parts of the formula have written: the memory was cleared before.
      const bool adds = operands_[k].of.n_cuts > 0;
      const size_t bytes = static_cast<size_t>(operands_[k].origin) * sizeof(opmath<T>);
      operands_[k].of.finish(operands_[k].of.data, static_cast<char*>(placed.parts) - bytes, teams, placed.part_stride,
                             n, adds, stream);
    }
  }

 private:
  GridView view_ = {};
  int64_t n_kept_;
  bool meets_ = false;  // a team's threads wait for each other

  OB_COLD void walk_last_dimension() {
    n_outer_ = rank_ > 0 ? rank_ - 1 : 0;
    length_ = rank_ > 0 ? sizes_[rank_ - 1] : 1;
    rows_ = total_ > 0 ? total_ / length_ : 0;
    if (total_ == 0) length_ = 0;
  }

  OB_COLD void settle(Placed& operand, GridView::Placed& placed) {
    placed.data = static_cast<char*>(operand.of.data) + operand.origin * operand.of.bytes;
    placed.parts = nullptr;
    bool any = false, all = true;
    operand.is_shared = total_ == 0;  // nobody else writes its zeros
    for (int32_t d = 0; d < rank_; ++d) {
      placed.strides[d] = operand.strides[d];
      if (d < n_outer_) {
        operand.is_shared = operand.is_shared || operand.strides[d] == 0;
      } else {
        (operand.strides[d] == 0 ? any : all) = operand.strides[d] == 0;
      }
    }
    placed.kind = !any ? GridView::each : all ? GridView::one : GridView::some;
    operand.is_shared = operand.is_shared || (!operand.of.is_dropped && placed.kind == GridView::some);
    operand.row_stride = rank_ > n_outer_ ? operand.strides[rank_ - 1] : 0;
    const bool is_sum = operand.of.use == Operand::sum;
    meets_ = meets_ || is_reduced_ || (is_sum && placed.kind == GridView::one);
  }

  // Returns whether rows are arrays that begin at addresses of packs.
  OB_COLD bool can_pack(int64_t pack) const {
    if (rank_ - n_outer_ > 1 || length_ < pack) return false;
    for (int32_t k = 0; k < n_operands_; ++k) {
      const Placed& operand = operands_[k];
      if (operand.of.is_dropped || operand.row_stride == 0) continue;
      if (operand.row_stride != 1) return false;
      if (operand.of.use == Operand::sum && operand.is_shared) continue;
      const uint64_t bytes = static_cast<uint64_t>(detail::less(16, pack * operand.of.bytes));
      if (reinterpret_cast<uintptr_t>(view_.operands[k].data) % bytes != 0) return false;
      for (int32_t d = 0; d < n_outer_; ++d) {
        if (static_cast<uint64_t>(operand.strides[d] * operand.of.bytes) % bytes != 0) return false;
      }
    }
    return true;
  }

  // Chooses the number of blocks and the team of each thread.
  OB_COLD int64_t share(int64_t pack, int64_t resident) {
    int device = 0, processors = 1;
    detail::check_cuda(cudaGetDevice(&device), "a formula");
    detail::check_cuda(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "a formula");
    const int64_t units = detail::more((length_ + pack - 1) / pack, 1);
    view_.is_adjacent = rows_ >= 32 && length_ > 1 && lies_across();
    view_.is_whole = !view_.is_adjacent && units > 8 * GridView::block && is_faster_row_by_row(units, processors);
    view_.width = GridView::block;
    if (view_.is_adjacent) {
      view_.width = GridView::block / 32;
    } else if (units <= 128 || (units <= 512 && rows_ >= 16 * processors)) {
      view_.width = 1;
      while (view_.width < 32 && view_.width < units) view_.width *= 2;
    }
    view_.rows_in_block = GridView::block / view_.width;
    if (view_.is_whole) return blocks_of_whole(units, resident * processors);
    int64_t blocks = detail::less((rows_ + view_.rows_in_block - 1) / view_.rows_in_block, int64_t{1} << 30);
    int64_t shared = 0;
    for (int32_t k = 0; k < n_operands_; ++k) {
      const bool has_parts = operands_[k].of.use == Operand::sum && operands_[k].is_shared;
      if (has_parts) shared += operands_[k].of.view->numel();
    }
    if (shared > 0) {
      // No more memory for the teams' sums than for the tensors.
      blocks = detail::less(blocks, detail::more(total_ / (shared * view_.rows_in_block), 1));
      blocks = detail::less(blocks, int64_t{8} * processors);
    }
    // Kept values stay in the cache if there are no more teams than run at a time.
    return n_kept_ > 0 ? detail::less(blocks, resident * processors) : blocks;
  }

  // Returns whether the whole launch per row, which synchronises twice per row, is faster than one block per row, two
  // of which keep a processor busy.  Synchronising takes about 3 us, in which a processor reads 4800 packs from memory.
  OB_COLD bool is_faster_row_by_row(int64_t units, int64_t processors) const {
    if (!meets_) return rows_ < 2 * processors;
    return units * (2 * processors - rows_) > 2 * 4800 * processors * rows_;
  }

  OB_COLD int64_t blocks_of_whole(int64_t units, int64_t resident) {
    const int64_t rounds = GridView::block * GridView::packs_of_thread;
    const int64_t wanted = detail::less((units + rounds - 1) / rounds, int64_t{1} << 30);
    if (!meets_) return wanted;
    // Blocks that wait for each other must be resident at the same time.
    const int64_t blocks = detail::less(wanted, resident);
    view_.partial = scratch<char>(2 * blocks * 16);
    return blocks;
  }

  // Returns whether more tensors are contiguous across the rows than within them.
  OB_COLD bool lies_across() const {
    int32_t across = 0, within = 0;
    for (int32_t k = 0; k < n_operands_; ++k) {
      const Placed& operand = operands_[k];
      if (operand.of.is_dropped) continue;
      within += operand.row_stride == 1;
      across += operand.row_stride > 1 && n_outer_ > 0 && operand.strides[n_outer_ - 1] == 1;
    }
    return across > within;
  }

  template <class T>
  void lend_parts(int32_t k, int64_t teams, Stream stream) {
    Placed& operand = operands_[k];
    GridView::Placed& placed = view_.operands[k];
    if (operand.of.use != Operand::sum || !operand.is_shared) return;
    placed.part_stride = operand.of.view->numel();
    const int64_t n = detail::more(teams * placed.part_stride, 1);
    opmath<T>* parts = scratch<opmath<T>>(n);
    detail::check_cuda(cudaMemsetAsync(parts, 0, static_cast<size_t>(n) * sizeof(opmath<T>), stream), "a formula");
    placed.parts = parts + operand.origin;
  }
};

}  // namespace ob
#endif

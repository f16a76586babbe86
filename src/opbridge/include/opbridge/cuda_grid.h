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
// A team is some lanes of a warp, a block, or the whole launch, by how long rows are and how many there are; where rows
// lie beside each other in memory, so do the threads that walk them.  Elements go in packs of 16 bytes where memory
// allows it.  Sums over rows are added up team by team in memory of their own, and then in the order of teams.
#ifndef OPBRIDGE_CUDA_GRID_H
#define OPBRIDGE_CUDA_GRID_H

#include <cooperative_groups.h>
#include <opbridge/cuda.h>
#include <opbridge/element.h>
#include <opbridge/grid_shape.h>
#include <opbridge/half.h>
#include <opbridge/math.h>

namespace ob {

struct Operand : GridOperand {
  // Of sums: adds up what the teams have for each element.
  void (*finish)(void* to, const void* parts, int64_t n_parts, int64_t stride, int64_t n, bool adds, Stream stream);
};

// How the threads of a launch share rows; what a kernel knows of its grid.
struct GridView {
  static constexpr int max_rank = 8;
  static constexpr int max_operands = 24;
  static constexpr int block = 256;

  enum SumKind : int8_t {
    each,
    one,
    some
  };  // of a row's elements: each has its own place, all have one, or some share

  // Where an operand's elements are, in a form that a launch copies to the device.
  struct Placed {
    void* data;
    void* parts;  // of a sum that rows share: a copy for each team
    int64_t part_stride;
    int64_t strides[max_rank];
    SumKind kind;
  };

  int64_t rows, length, numel;
  int64_t sizes[max_rank];
  Placed operands[max_operands];
  void* partial;  // of a team that is the launch: what the blocks come down to, twice
  int32_t n_outer, rank;
  int32_t width;          // lanes of a team in one block
  int32_t rows_in_block;  // teams of a block
  bool is_whole;          // the launch is one team
  bool is_adjacent;       // neighbouring threads are in neighbouring rows
  bool is_packed;
};

// What the threads of a block tell each other.
struct Exchange {
  alignas(16) unsigned char bytes[GridView::block * 16];
};

namespace [[gnu::visibility("hidden")]] detail {

// V values that lie beside each other, moved 16 bytes at a time.
template <class U, int V>
struct alignas(sizeof(U) * V < 16 ? sizeof(U) * V : 16) Pack {
  U values[V];
};

// A value and where it stands.
template <class F>
struct Found {
  F value;
  int64_t at;
};

template <class F>
__device__ inline F across(F value, int distance) {
  return __shfl_xor_sync(0xffffffffu, value, distance);
}

__device__ inline int64_t across(int64_t value, int distance) {
  return static_cast<int64_t>(__shfl_xor_sync(0xffffffffu, static_cast<long long>(value), distance));
}

template <class F>
__device__ inline Found<F> across(Found<F> found, int distance) {
  return {across(found.value, distance), across(found.at, distance)};
}

struct Plus {
  template <class F>
  OB_HOST_DEVICE F operator()(F a, F b) const {
    return a + b;
  }
};

struct Most {
  template <class F>
  OB_HOST_DEVICE F operator()(F a, F b) const {
    return maximum(a, b);
  }
  // The first of those that are largest; a NaN is the largest.
  template <class F>
  OB_HOST_DEVICE Found<F> operator()(Found<F> a, Found<F> b) const {
    const bool same = a.value == b.value || (a.value != a.value && b.value != b.value);
    if (same) return a.at < b.at ? a : b;
    return a.value > b.value || a.value != a.value ? a : b;
  }
};

struct Least {
  template <class F>
  OB_HOST_DEVICE F operator()(F a, F b) const {
    return minimum(a, b);
  }
  template <class F>
  OB_HOST_DEVICE Found<F> operator()(Found<F> a, Found<F> b) const {
    const bool same = a.value == b.value || (a.value != a.value && b.value != b.value);
    if (same) return a.at < b.at ? a : b;
    return a.value < b.value || a.value != a.value ? a : b;
  }
};

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

// A thread's part in the rows of its team.
template <class T>
class GridRow {
  static constexpr int V = 16 / sizeof(T);  // elements of a pack
  using F = opmath<T>;

 public:
  __device__ GridRow(const GridView& grid, Exchange& exchange) : grid_(grid), exchange_(exchange.bytes) {
    const int thread = static_cast<int>(threadIdx.x);
    slot_ = grid.is_adjacent ? thread % grid.rows_in_block : thread / grid.width;
    lane_ = grid.is_adjacent ? thread / grid.rows_in_block : thread % grid.width;
    width_ = grid.width;
    team_ = blockIdx.x * static_cast<int64_t>(grid.rows_in_block) + slot_;
    first_ = blockIdx.x * static_cast<int64_t>(grid.rows_in_block);
    step_ = gridDim.x * static_cast<int64_t>(grid.rows_in_block);
    if (grid.is_whole) {
      lane_ += static_cast<int64_t>(blockIdx.x) * grid.width;
      width_ *= gridDim.x;
      team_ = first_ = 0;
      step_ = 1;
    }
  }

  // The same for all threads of a block, so that they meet at barriers: one without a row has no elements.
  __device__ bool is_left() const { return first_ < grid_.rows; }
  __device__ void next() { first_ += step_; }
  __device__ int64_t size() const { return grid_.length; }

  // An input's elements, each as a U.
  template <class U>
  struct Reading {
    const GridView& grid;
    const U* data;
    int64_t stride;
    int32_t operand;

    template <int N>
    struct Cell {
      detail::Pack<U, N> pack;
      __device__ auto operator[](int k) const {
        if constexpr (std::is_same<U, bool>::value) {
          return pack.values[k];
        } else {
          return static_cast<opmath<U>>(pack.values[k]);
        }
      }
      __device__ void flush(Reading&) {}
    };

    template <int N>
    __device__ Cell<N> at(int64_t i) const {
      Cell<N> cell;
      if constexpr (N == 1) {
        cell.pack.values[0] = data[offset_in_row(grid, operand, i, stride)];
      } else if (stride == 1) {
        cell.pack = *reinterpret_cast<const detail::Pack<U, N>*>(data + i);
      } else {
        for (int k = 0; k < N; ++k) cell.pack.values[k] = *data;
      }
      return cell;
    }

    __device__ void finish(GridRow&) {}
  };

  // Where an output's elements go: a body gives them in F, or as what they are where that is no number of T's kind.
  template <class U>
  struct Writing {
    using Slot = std::conditional_t<std::is_integral<U>::value, U, F>;
    const GridView& grid;
    U* data;
    int64_t stride;
    int32_t operand;

    template <int N>
    struct Cell {
      int64_t i;
      Slot slots[N];
      __device__ Slot& operator[](int k) { return slots[k]; }
      __device__ void flush(Writing& to) {
        if constexpr (N == 1) {
          to.data[offset_in_row(to.grid, to.operand, i, to.stride)] = static_cast<U>(slots[0]);
        } else {
          detail::Pack<U, N> pack;
          for (int k = 0; k < N; ++k) pack.values[k] = static_cast<U>(slots[k]);
          *reinterpret_cast<detail::Pack<U, N>*>(to.data + i) = pack;
        }
      }
    };

    template <int N>
    __device__ Cell<N> at(int64_t i) const {
      return {i, {}};
    }

    __device__ void finish(GridRow&) {}
  };

  // What is added to an output smaller than the grid.
  template <class U>
  struct Adding {
    const GridView& grid;
    U* data;
    F* parts;
    int64_t stride;
    int32_t operand;
    GridView::SumKind kind;
    F total;

    template <int N>
    struct Cell {
      int64_t i;
      F slots[N];
      __device__ F& operator[](int k) { return slots[k]; }
      __device__ void flush(Adding& to) {
        if (to.kind == GridView::one) {
          for (int k = 0; k < N; ++k) to.total += slots[k];
        } else if (to.parts == nullptr) {
          to.store(*this);
        } else {
          for (int k = 0; k < N; ++k) to.add(offset_in_row(to.grid, to.operand, i + k, to.stride), slots[k]);
        }
      }
    };

    template <int N>
    __device__ Cell<N> at(int64_t i) const {
      return {i, {}};
    }

    // An output that no two rows share.
    template <int N>
    __device__ void store(const Cell<N>& cell) {
      if constexpr (N == 1) {
        data[offset_in_row(grid, operand, cell.i, stride)] = static_cast<U>(cell.slots[0]);
      } else {
        detail::Pack<U, N> pack;
        for (int k = 0; k < N; ++k) pack.values[k] = static_cast<U>(cell.slots[k]);
        *reinterpret_cast<detail::Pack<U, N>*>(data + cell.i) = pack;
      }
    }

    __device__ void add(int64_t at, F value) {
      if (parts == nullptr) {
        data[at] = static_cast<U>(value);
      } else if (kind == GridView::some) {
        atomicAdd(parts + at, value);
      } else {
        parts[at] += value;
      }
    }

    __device__ void finish(GridRow& row) {
      if (kind != GridView::one) return;
      total = row.over_team(total, F(0), detail::Plus());
      if (row.is_first()) add(0, total);
    }
  };

  template <class U>
  __device__ Reading<U> read(int k) const {
    return {grid_, static_cast<const U*>(grid_.operands[k].data) + offset(k), stride(k), k};
  }

  // An input's only element.
  template <class U>
  __device__ U value(int k) const {
    return static_cast<const U*>(grid_.operands[k].data)[offset(k)];
  }

  template <class U>
  __device__ Writing<U> write(int k) const {
    return {grid_, static_cast<U*>(grid_.operands[k].data) + offset(k), stride(k), k};
  }

  template <class U>
  __device__ Adding<U> add(int k) const {
    const GridView::Placed& operand = grid_.operands[k];
    F* parts = static_cast<F*>(operand.parts);
    if (parts != nullptr) parts += team_ * operand.part_stride + offset(k);
    return {grid_, static_cast<U*>(operand.data) + offset(k), parts, stride(k), k, operand.kind, F(0)};
  }

  // An output's only element.
  template <class U>
  __device__ void put(int k, U value) const {
    if (is_first()) static_cast<U*>(grid_.operands[k].data)[offset(k)] = value;
  }

  // The same for an output that gets the sum of several rows' values.
  template <class U>
  __device__ void put_sum(int k, F value) const {
    if (is_first()) add<U>(k).add(0, value);
  }

  // Calls f with what stands at one place of each of `tensors`, for all places of the row.
  template <class Body, class... Tensors>
  __device__ void each(const Body& f, Tensors... tensors) {
    const int64_t packs = grid_.is_packed ? count() / V : 0;
    for (int64_t p = lane_; p < packs; p += width_) visit<V>(f, p * V, tensors...);
    for (int64_t i = packs * V + lane_; i < count(); i += width_) visit<1>(f, i, tensors...);
    static_cast<void>((tensors.finish(*this), ...));
  }

  template <class Body, class... Tensors>
  __device__ F sum(const Body& f, const Tensors&... tensors) {
    return value_of(F(0), detail::Plus(), f, tensors...);
  }

  template <class Body, class... Tensors>
  __device__ F max(const Body& f, const Tensors&... tensors) {
    return value_of(-static_cast<F>(INFINITY), detail::Most(), f, tensors...);
  }

  template <class Body, class... Tensors>
  __device__ F min(const Body& f, const Tensors&... tensors) {
    return value_of(static_cast<F>(INFINITY), detail::Least(), f, tensors...);
  }

  template <class Body, class... Tensors>
  __device__ int64_t argmax(const Body& f, const Tensors&... tensors) {
    return place_of(-static_cast<F>(INFINITY), detail::Most(), f, tensors...);
  }

  template <class Body, class... Tensors>
  __device__ int64_t argmin(const Body& f, const Tensors&... tensors) {
    return place_of(static_cast<F>(INFINITY), detail::Least(), f, tensors...);
  }

  // The logarithm of the sum of exponentials, which overflows nowhere.
  template <class Body, class... Tensors>
  __device__ F logsumexp(const Body& f, const Tensors&... tensors) {
    F most = max(f, tensors...);
    if (std::isinf(most)) most = F(0);  // else infinity minus infinity
    return most + ob::log(sum([&](auto... values) { return ob::exp(f(values...) - most); }, tensors...));
  }

 private:
  __device__ bool is_active() const { return first_ + slot_ < grid_.rows || grid_.is_whole; }
  __device__ bool is_first() const { return lane_ == 0 && is_active(); }
  __device__ int64_t count() const { return is_active() ? grid_.length : 0; }

  __device__ int64_t offset(int k) const {
    const int64_t* strides = grid_.operands[k].strides;
    int64_t row = grid_.is_whole ? first_ : first_ + slot_;
    if (row >= grid_.rows) return 0;
    int64_t at = 0;
    for (int d = grid_.n_outer - 1; d > 0; --d) {
      at += row % grid_.sizes[d] * strides[d];
      row /= grid_.sizes[d];
    }
    return grid_.n_outer > 0 ? at + row * strides[0] : 0;
  }

  __device__ int64_t stride(int k) const {
    return grid_.rank > grid_.n_outer ? grid_.operands[k].strides[grid_.rank - 1] : 0;
  }

  __device__ static int64_t offset_in_row(const GridView& grid, int k, int64_t i, int64_t stride) {
    if (grid.rank - grid.n_outer <= 1) return i * stride;
    int64_t at = 0;
    for (int d = grid.rank - 1; d > grid.n_outer; --d) {
      at += i % grid.sizes[d] * grid.operands[k].strides[d];
      i /= grid.sizes[d];
    }
    return at + i * grid.operands[k].strides[grid.n_outer];
  }

  template <int N, class Body, class... Tensors>
  __device__ static void visit(const Body& f, int64_t i, Tensors&... tensors) {
    const auto visit_cells = [&](auto... cells) {
      for (int k = 0; k < N; ++k) f(cells[k]...);
      static_cast<void>((cells.flush(tensors), ...));
    };
    visit_cells(tensors.template at<N>(i)...);
  }

  // What all places come down to, the packs of a thread first.
  template <class Value, class C, class Body, class... Tensors>
  __device__ Value reduce(Value start, const C& combine, const Body& f, const Tensors&... tensors) {
    Value all = start;
    const auto take = [&](int64_t i, auto width, auto... cells) {
      for (int k = 0; k < static_cast<int>(width); ++k) all = combine(all, f(i + k, cells[k]...));
    };
    using Packed = std::integral_constant<int, V>;
    using Single = std::integral_constant<int, 1>;
    const int64_t packs = grid_.is_packed ? count() / V : 0;
    for (int64_t p = lane_; p < packs; p += width_) take(p * V, Packed(), tensors.template at<V>(p * V)...);
    for (int64_t i = packs * V + lane_; i < count(); i += width_) take(i, Single(), tensors.template at<1>(i)...);
    return over_team(all, start, combine);
  }

  template <class C, class Body, class... Tensors>
  __device__ F value_of(F start, const C& combine, const Body& f, const Tensors&... tensors) {
    return reduce(start, combine, [&](int64_t, auto... values) { return static_cast<F>(f(values...)); }, tensors...);
  }

  template <class C, class Body, class... Tensors>
  __device__ int64_t place_of(F start, const C& combine, const Body& f, const Tensors&... tensors) {
    const auto here = [&](int64_t i, auto... values) { return detail::Found<F>{static_cast<F>(f(values...)), i}; };
    const detail::Found<F> none{start, INT64_MAX};
    const int64_t at = reduce(none, combine, here, tensors...).at;
    return at == INT64_MAX ? 0 : at;
  }

  template <class Value, class C>
  __device__ Value over_team(Value mine, Value start, const C& combine) {
    Value* shared = reinterpret_cast<Value*>(exchange_);
    if (grid_.is_adjacent) {
      shared[threadIdx.x] = mine;
      __syncthreads();
      for (int half = grid_.width / 2; half > 0; half /= 2) {
        if (lane_ < half) {
          shared[threadIdx.x] = combine(shared[threadIdx.x], shared[threadIdx.x + half * grid_.rows_in_block]);
        }
        __syncthreads();
      }
      mine = shared[slot_];
      __syncthreads();
      return mine;
    }
    mine = over_block(mine, combine);
    if (!grid_.is_whole || gridDim.x == 1) return mine;
    // One barrier is enough where the next round writes elsewhere.
    Value* parts = static_cast<Value*>(grid_.partial) + (is_odd_ ? gridDim.x : 0);
    is_odd_ = !is_odd_;
    if (threadIdx.x == 0) parts[blockIdx.x] = mine;
    cooperative_groups::this_grid().sync();
    Value all = start;
    for (unsigned part = threadIdx.x; part < gridDim.x; part += blockDim.x) all = combine(all, parts[part]);
    return over_block(all, combine);
  }

  template <class Value, class C>
  __device__ Value over_block(Value mine, const C& combine) {
    for (int distance = (grid_.width < 32 ? grid_.width : 32) / 2; distance > 0; distance /= 2) {
      mine = combine(mine, detail::across(mine, distance));
    }
    if (grid_.width <= 32) return mine;
    Value* shared = reinterpret_cast<Value*>(exchange_);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = mine;
    __syncthreads();
    mine = shared[0];
    for (int warp = 1; warp < GridView::block / 32; ++warp) mine = combine(mine, shared[warp]);
    __syncthreads();
    return mine;
  }

  const GridView& grid_;
  unsigned char* exchange_;
  int64_t first_, step_, team_, lane_, width_;
  int slot_;
  bool is_odd_ = false;
};

// The host's side: how rows are shared among threads, and the launch.
class CudaGrid : public GridShape<Operand> {
 public:
  OB_COLD CudaGrid(const Axes& axes, std::initializer_list<Operand> operands) : GridShape(axes, operands) {
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
      // What other parts of the formula have written stays: it was cleared before.
      const bool adds = operands_[k].of.n_cuts > 0;
      const size_t bytes = static_cast<size_t>(operands_[k].origin) * sizeof(opmath<T>);
      operands_[k].of.finish(operands_[k].of.data, static_cast<char*>(placed.parts) - bytes, teams, placed.part_stride,
                             n, adds, stream);
    }
  }

 private:
  GridView view_ = {};
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

  // Whether rows are arrays that begin where packs may.
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

  // How many blocks, and which threads are a team.
  OB_COLD int64_t share(int64_t pack, int64_t resident) {
    int device = 0, processors = 1;
    detail::check_cuda(cudaGetDevice(&device), "a formula");
    detail::check_cuda(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "a formula");
    const int64_t units = detail::more((length_ + pack - 1) / pack, 1);
    view_.is_adjacent = rows_ >= 32 && length_ > 1 && lies_across();
    view_.is_whole = !view_.is_adjacent && units > 8 * GridView::block && rows_ < 2 * processors;
    view_.width = GridView::block;
    if (view_.is_adjacent) {
      view_.width = GridView::block / 32;
    } else if (units <= 128) {
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
    return blocks;
  }

  OB_COLD int64_t blocks_of_whole(int64_t units, int64_t resident) {
    const int64_t wanted = detail::less((units + GridView::block - 1) / GridView::block, int64_t{1} << 30);
    if (!meets_) return wanted;
    // Blocks that wait for each other have to be there at the same time.
    const int64_t blocks = detail::less(wanted, resident);
    view_.partial = scratch<char>(2 * blocks * 16);
    return blocks;
  }

  // Whether more of the tensors lie along the rows than within them.
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

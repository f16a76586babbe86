// The part of a thread in the rows of a formula on a GPU: what it reads, writes, reduces and sums together with others.
#ifndef OPBRIDGE_CUDA_ROW_H
#define OPBRIDGE_CUDA_ROW_H

#include <opbridge/cuda_view.h>

namespace ob {

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

  // The same for all threads of a block, so that all reach barriers: a thread without a row has no elements.
  __device__ bool is_left() const { return first_ < grid_.rows; }
  __device__ void next() { first_ += step_; }
  __device__ int64_t size() const { return grid_.length; }

  // Reads the elements of an input as U.
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

  // Writes the elements of an output.  The body returns them as F, or as U if U is integral.
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

  // Adds to an output that is smaller than the grid.
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

  // Values that a row keeps for later bodies: each thread reads only what it has written itself.
  struct Kept {
    F* data;
    int64_t stride;

    template <int N>
    struct Cell {
      detail::Pack<F, N> pack;
      __device__ F& operator[](int k) { return pack.values[k]; }
      __device__ void flush(Kept&) {}
    };

    template <int N>
    __device__ detail::Pack<F, N>& pack(int64_t i) const {
      return *reinterpret_cast<detail::Pack<F, N>*>(data + i * stride);
    }
    template <int N>
    __device__ Cell<N> at(int64_t i) const {
      return {pack<N>(i)};
    }

    __device__ void finish(GridRow&) {}
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

  // Calls f with the elements of `tensors` at one place, for all places of the row.
  template <class Body, class... Tensors>
  __device__ void each(const Body& f, Tensors... tensors) {
    const auto visit = [&](auto width, int64_t, auto&... cells) {
      for (int k = 0; k < decltype(width)::value; ++k) f(cells[k]...);
      static_cast<void>((cells.flush(tensors), ...));
    };
    over_places(visit, tensors...);
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

  // Returns the sum of the elements up to each place, or from it on, in double.  These are the k-th such values of a
  // kernel.
  template <class Body, class... Tensors>
  __device__ Kept scan(int k, const Body& f, const Tensors&... tensors) {
    const Kept kept = kept_for(k);
    double before = 0;
    scan_packs<false>(before, kept, f, tensors...);
    scan_rest<false>(before, kept, f, tensors...);
    return kept;
  }

  template <class Body, class... Tensors>
  __device__ Kept scan_back(int k, const Body& f, const Tensors&... tensors) {
    const Kept kept = kept_for(k);
    double behind = 0;
    scan_rest<true>(behind, kept, f, tensors...);
    scan_packs<true>(behind, kept, f, tensors...);
    return kept;
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

  // Visits all places of the row, the packs of a thread first.  Each pack is loaded while the previous one is computed,
  // to hide the latency of memory.
  template <class Act, class... Tensors>
  __device__ void over_places(const Act& act, const Tensors&... tensors) const {
    using Packed = std::integral_constant<int, V>;
    using Single = std::integral_constant<int, 1>;
    const int64_t packs = grid_.is_packed ? count() / V : 0;
    detail::Held<typename Tensors::template Cell<V>...> held, next;
    if (lane_ < packs) next.template load<V>(lane_ * V, tensors...);
    for (int64_t p = lane_; p < packs; p += width_) {
      held = next;
      if (p + width_ < packs) next.template load<V>((p + width_) * V, tensors...);
      held.hand_to([&](auto&... cells) { act(Packed(), p * V, cells...); });
    }
    detail::Held<typename Tensors::template Cell<1>...> single;
    for (int64_t i = packs * V + lane_; i < count(); i += width_) {
      single.template load<1>(i, tensors...);
      single.hand_to([&](auto&... cells) { act(Single(), i, cells...); });
    }
  }

  // Reduces all places.
  template <class Value, class C, class Body, class... Tensors>
  __device__ Value reduce(Value start, const C& combine, const Body& f, const Tensors&... tensors) {
    Value all = start;
    const auto take = [&](auto width, int64_t i, const auto&... cells) {
      for (int k = 0; k < decltype(width)::value; ++k) all = combine(all, f(i + k, cells[k]...));
    };
    over_places(take, tensors...);
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

  __device__ Kept kept_for(int k) const {
    F* const data = static_cast<F*>(grid_.kept) + k * grid_.kept_array;
    if (!grid_.is_adjacent) return {data + team_ * grid_.kept_pitch, 1};
    return {data + (team_ - slot_) * grid_.kept_pitch + slot_, grid_.rows_in_block};
  }

  template <bool is_backward, class... Given>
  __device__ void scan_packs(double& so_far, const Given&... given) {
    if (grid_.is_packed) scan_stretch<is_backward, V>(so_far, 0, grid_.length / V, given...);
  }

  template <bool is_backward, class... Given>
  __device__ void scan_rest(double& so_far, const Given&... given) {
    const int64_t begin = grid_.is_packed ? grid_.length / V * V : 0;
    scan_stretch<is_backward, 1>(so_far, begin, grid_.length - begin, given...);
  }

  // Visits `n` times N places from `begin` on.  All threads of a block run equally many rounds, with a row or without.
  template <bool is_backward, int N, class Body, class... Tensors>
  __device__ void scan_stretch(double& so_far, int64_t begin, int64_t n, const Kept& kept, const Body& f,
                               const Tensors&... tensors) {
    const int64_t rounds = (n + width_ - 1) / width_;
    for (int64_t round = 0; round < rounds; ++round) {
      const int64_t place = (is_backward ? rounds - 1 - round : round) * width_ + lane_;
      const int64_t at = begin + place * N;
      const bool is_here = place < n && is_active();
      double sums[N] = {};
      if (is_here) add_up<is_backward>(sums, f, tensors.template at<N>(at)...);
      const detail::Share share = over_team<is_backward>(sums[is_backward ? 0 : N - 1]);
      if (is_here) {
        for (int k = 0; k < N; ++k) {
          kept.template pack<N>(at).values[k] = static_cast<F>(so_far + share.beside + sums[k]);
        }
      }
      so_far += share.all;
    }
  }

  template <bool is_backward, int N, class Body, class... Cells>
  __device__ static void add_up(double (&sums)[N], const Body& f, Cells... cells) {
    double sum = 0;
    for (int k = 0; k < N; ++k) {
      const int at = is_backward ? N - 1 - k : k;
      sums[at] = sum += static_cast<double>(static_cast<F>(f(cells[at]...)));
    }
  }

  template <bool is_backward>
  __device__ detail::Share over_team(double mine) {
    if (grid_.is_adjacent) return over_adjacent<is_backward>(mine);
    detail::Share share = detail::over_lanes<is_backward>(mine, grid_.width < 32 ? grid_.width : 32);
    if (grid_.width > 32) {
      double* shared = reinterpret_cast<double*>(exchange_);
      if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = share.all;
      __syncthreads();
      share.all = 0;
      for (unsigned warp = 0; warp < GridView::block / 32; ++warp) {
        share.all += shared[warp];
        if (is_backward ? warp > threadIdx.x / 32 : warp < threadIdx.x / 32) share.beside += shared[warp];
      }
      __syncthreads();
    }
    return grid_.is_whole && gridDim.x > 1 ? over_launch<is_backward>(share) : share;
  }

  template <bool is_backward>
  __device__ detail::Share over_adjacent(double mine) {
    double* shared = reinterpret_cast<double*>(exchange_);
    shared[threadIdx.x] = mine;
    __syncthreads();
    detail::Share share{0, 0};
    for (int lane = 0; lane < grid_.width; ++lane) {
      const double other = shared[slot_ + lane * grid_.rows_in_block];
      share.all += other;
      if (is_backward ? lane > lane_ : lane < lane_) share.beside += other;
    }
    __syncthreads();
    return share;
  }

  template <bool is_backward>
  __device__ detail::Share over_launch(detail::Share of_block) {
    double* parts = next_parts<double>();
    if (threadIdx.x == 0) parts[blockIdx.x] = of_block.all;
    cooperative_groups::this_grid().sync();
    detail::Share share{0, 0};
    for (unsigned part = threadIdx.x; part < gridDim.x; part += blockDim.x) {
      share.all += parts[part];
      if (is_backward ? part > blockIdx.x : part < blockIdx.x) share.beside += parts[part];
    }
    return {over_block(share.beside, detail::Plus()) + of_block.beside, over_block(share.all, detail::Plus())};
  }

  // Exchanges values between blocks.  One barrier is enough, because the next round writes elsewhere.
  template <class Value>
  __device__ Value* next_parts() {
    unsigned char* const parts = static_cast<unsigned char*>(grid_.partial) + (is_odd_ ? gridDim.x * size_t{16} : 0);
    is_odd_ = !is_odd_;
    return reinterpret_cast<Value*>(parts);
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
    Value* parts = next_parts<Value>();
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

}  // namespace ob
#endif

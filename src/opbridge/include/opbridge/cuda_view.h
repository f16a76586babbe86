// The grid of a formula's kernel on a GPU, and how threads combine their results.
#ifndef OPBRIDGE_CUDA_VIEW_H
#define OPBRIDGE_CUDA_VIEW_H

#include <cooperative_groups.h>
#include <opbridge/cuda.h>
#include <opbridge/element.h>
#include <opbridge/half.h>
#include <opbridge/math.h>

namespace ob {

// The division of rows among the threads of a launch, as a kernel sees it.
struct GridView {
  static constexpr int max_rank = 8;
  static constexpr int max_operands = 24;
  static constexpr int block = 256;
  static constexpr int packs_of_thread = 8;  // where no element has to do with another

  enum SumKind : int8_t {
    each,
    one,
    some
  };  // of a row's elements: each has its own place, all have one, or some share

  // The place of an operand's elements, in a form that a launch copies to the device.
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
  void* partial;                   // of a team that is the launch: what the blocks come down to, twice
  void* kept;                      // values of each element that a kernel computes once, team by team
  int64_t kept_pitch, kept_array;  // from one team's to the next one's, and from one such value's to the next one's
  int32_t n_outer, rank;
  int32_t width;          // lanes of a team in one block
  int32_t rows_in_block;  // teams of a block
  bool is_whole;          // the launch is one team
  bool is_adjacent;       // neighbouring threads are in neighbouring rows
  bool is_packed;
};

// Values that the threads of a block exchange.
struct Exchange {
  alignas(16) unsigned char bytes[GridView::block * 16];
};

namespace [[gnu::visibility("hidden")]] detail {

// V adjacent values, moved 16 bytes at a time.
template <class U, int V>
struct alignas(sizeof(U) * V < 16 ? sizeof(U) * V : 16) Pack {
  U values[V];
};

// The elements of some tensors at one place, or at several.
template <class... Cells>
struct Held {
  template <int N>
  __device__ void load(int64_t) {}
  template <class Act, class... Others>
  __device__ void hand_to(const Act& act, Others&... others) {
    act(others...);
  }
};

template <class Cell, class... Cells>
struct Held<Cell, Cells...> {
  Cell cell;
  Held<Cells...> rest;

  template <int N, class Tensor, class... Tensors>
  __device__ void load(int64_t i, const Tensor& tensor, const Tensors&... tensors) {
    cell = tensor.template at<N>(i);
    rest.template load<N>(i, tensors...);
  }
  template <class Act, class... Others>
  __device__ void hand_to(const Act& act, Others&... others) {
    rest.hand_to(act, others..., cell);
  }
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

// The sum of the lanes before a lane, or after it, and the sum of all.
struct Share {
  double beside, all;
};

// Returns the share of a lane, for a team within a warp.
template <bool is_backward>
__device__ inline Share over_lanes(double mine, int width) {
  const int lane = static_cast<int>(threadIdx.x) & (width - 1);
  const int place = is_backward ? width - 1 - lane : lane;
  const auto beside = [=](double value, int distance) {
    const double from = is_backward ? __shfl_down_sync(0xffffffffu, value, distance, width)
                                    : __shfl_up_sync(0xffffffffu, value, distance, width);
    return place >= distance ? from : 0.0;
  };
  double sum = mine;
  for (int distance = 1; distance < width; distance *= 2) sum += beside(sum, distance);
  // A shift excludes the lane's own value: subtracting it would fail for infinities.
  return {width == 1 ? 0.0 : beside(sum, 1), __shfl_sync(0xffffffffu, sum, is_backward ? 0 : width - 1, width)};
}

}  // namespace detail
}  // namespace ob
#endif

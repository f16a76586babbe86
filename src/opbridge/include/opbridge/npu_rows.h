// A block's part in the rows of a formula on an Ascend NPU: what is loaded, reduced and stored.
//
// Tensors come by a queue of two buffers, so that one is filled while another is computed with, and leave by such a
// queue; all is computed in float.  An input that a step has loaded already is not loaded again.
#ifndef OPBRIDGE_NPU_ROWS_H
#define OPBRIDGE_NPU_ROWS_H

#include <kernel_operator.h>
#include <opbridge/npu_vectors.h>
#include <opbridge/npu_view.h>

namespace ob {
namespace [[gnu::visibility("hidden")]] npu {

// Reduces the lanes of a vector, and combines two vectors.
struct Plus {
  static __aicore__ inline void lanes(const Vector& one, const Vector& all, const Vector& work, uint32_t n) {
    AscendC::ReduceSum(one, all, work, n);
  }
  static __aicore__ inline void join(const Vector& to, const Vector& part, uint32_t n) {
    AscendC::Add(to, to, part, n);
  }
};
struct Most {
  static __aicore__ inline void lanes(const Vector& one, const Vector& all, const Vector& work, uint32_t n) {
    AscendC::ReduceMax(one, all, work, n);
  }
  static __aicore__ inline void join(const Vector& to, const Vector& part, uint32_t n) {
    AscendC::Max(to, to, part, n);
  }
};
struct Least {
  static __aicore__ inline void lanes(const Vector& one, const Vector& all, const Vector& work, uint32_t n) {
    AscendC::ReduceMin(one, all, work, n);
  }
  static __aicore__ inline void join(const Vector& to, const Vector& part, uint32_t n) {
    AscendC::Min(to, to, part, n);
  }
};

// Holds `floats` vectors and `masks` masks of the unified buffer, and the place that it has come to in the grid; keeps
// `scans` values of each element, in the workspace where a row takes several steps.
template <int N, int floats, int masks, int scans = 0>
class Rows {
 public:
  __aicore__ inline Rows(const View<N>& view, GM_ADDR workspace, __gm__ uint8_t* const (&data)[N])
      : view_(view), workspace_(reinterpret_cast<__gm__ float*>(workspace)) {
    for (int k = 0; k < N; ++k) {
      data_[k] = data[k];
      held_[k] = Held{-1, 0};
    }
    pipe_.InitBuffer(in_, 2, view.loaded_bytes);
    pipe_.InitBuffer(out_, 2, view.tile * sizeof(float));
    pipe_.InitBuffer(floats_, (floats + 1) * view.tile * sizeof(float));
    if (masks > 0) pipe_.InitBuffer(masks_, masks * view.tile / 8);
    if (masks > 0) {
      pipe_.InitBuffer(halves_, view.tile * sizeof(::half));
      // Masks are made and joined by whole words, beyond the lanes that anything is computed for.
      AscendC::Duplicate(floats_.template Get<float>(), 0.0f, (floats + 1) * view.tile);
    }
    pipe_.InitBuffer(work_, view.tile / 32 * sizeof(float) + 256);
    pipe_.InitBuffer(total_, 32);
    if (view.is_strided) count_offsets(offsets_, 32);
    if (scans > 0 && !view.is_across) {
      pipe_.InitBuffer(sums_, (view.tile + beside) * sizeof(float));
      count_offsets(places_, sizeof(float));
    }
    group_ = view.is_whole ? 0 : AscendC::GetBlockIdx();
    enter();
  }

  __aicore__ inline Vector vector(int i) {
    return floats_.template GetWithOffset<float>(view_.tile, i * view_.tile * sizeof(float));
  }
  __aicore__ inline Mask mask(int i) {
    return masks_.template GetWithOffset<uint8_t>(view_.tile / 8, i * view_.tile / 8);
  }

  __aicore__ inline bool is_left() const { return group_ < view_.groups; }
  __aicore__ inline void next() {
    group_ += view_.is_whole ? 1 : AscendC::GetBlockNum();
    enter();
  }

  // The steps of a row, and how many lanes each has.
  __aicore__ inline void first() { step_to(view_.is_whole ? AscendC::GetBlockIdx() : 0); }
  __aicore__ inline bool has_step() const { return step_ >= 0 && step_ < view_.steps; }
  __aicore__ inline void step() { step_to(step_ + (view_.is_whole ? AscendC::GetBlockNum() : 1)); }
  // Starts at the end.
  __aicore__ inline void last() { step_to(view_.steps - 1); }
  __aicore__ inline void step_back() { step_to(step_ - 1); }
  __aicore__ inline uint32_t count() const { return count_; }

  // The number of lanes of a value that exists once per row: one, or the number of rows.
  __aicore__ inline uint32_t width() const { return width_; }

  // A tensor's elements at this step, or what it has for the row.
  template <class U>
  __aicore__ inline void read(int k, const Vector& to) {
    fetch<U>(k, here(k), count_, to);
  }
  template <class U>
  __aicore__ inline void read_row(int k, const Vector& to) {
    fetch<U>(k, base_[k], width_, to);
  }
  __aicore__ inline void read_mask(int k, const Mask& to) { fetch_mask(k, here(k), count_, to); }
  __aicore__ inline void read_row_mask(int k, const Mask& to) { fetch_mask(k, base_[k], width_, to); }

  // Begins what the lanes of a row come down to.
  __aicore__ inline void start(const Vector& all, float value) { AscendC::Duplicate(all, value, most_lanes()); }

  __aicore__ inline void sum(const Vector& all) { reduce<Plus>(all); }
  __aicore__ inline void max(const Vector& all) { reduce<Most>(all); }
  __aicore__ inline void min(const Vector& all) { reduce<Least>(all); }

  // Sums the elements up to each one, or from it on if the steps go backwards.  `to` is the k-th vector of its kind,
  // and keeps its values from step to step.
  __aicore__ inline void scan(int k, const Vector& to, const Vector& from) { scan_step<false>(k, to, from); }
  __aicore__ inline void scan_back(int k, const Vector& to, const Vector& from) { scan_step<true>(k, to, from); }

  // Such sums at this step.
  __aicore__ inline void read_sums(int k, const Vector& to) {
    if (scanned_[k] == step_) return;
    scanned_[k] = step_;
    Vector loaded = load<float>(kept(k), count_, 1);
    AscendC::Muls(to, loaded, 1.0f, count_);
    in_.FreeTensor(loaded);
  }

  // Copies a value that exists once per row to every lane of a vector.
  __aicore__ inline void spread(const Vector& value) {
    if (!view_.is_across) fill(value, most_lanes());
  }
  __aicore__ inline void spread(const Mask& value) {
    if (view_.is_across) return;
    to_numbers(spare(), value, 1);
    fill(spare(), most_lanes());
    AscendC::CompareScalar(value, spare(), 0.0f, AscendC::CMPMODE::NE, whole(most_lanes()));
  }

  // Elements of an output at this step, or its element for the row.
  template <class U>
  __aicore__ inline void write(int k, const Vector& from) {
    store<U>(k, here(k), from, count_);
  }
  __aicore__ inline void write(int k, const Mask& from) { store(k, here(k), from, count_); }
  template <class U>
  __aicore__ inline void put(int k, const Vector& from) {
    if (is_first()) store<U>(k, base_[k], from, width_);
  }
  __aicore__ inline void put(int k, const Mask& from) {
    if (is_first()) store(k, base_[k], from, width_);
  }

  // The same for an output that gets the sum of what several steps or rows have for it.
  template <class U>
  __aicore__ inline void add(int k, const Vector& from) {
    add_up<U>(k, here(k), from, count_);
  }
  template <class U>
  __aicore__ inline void put_sum(int k, const Vector& from) {
    if (is_first()) add_up<U>(k, base_[k], from, width_);
  }

  // When all rows are done: what the blocks have for each element, in the order of blocks.
  template <class U>
  __aicore__ inline void finish(int k) {
    const auto& operand = view_.operands[k];
    if (!operand.is_shared) return;
    if (!is_done_) wait_for_all();
    is_done_ = true;
    const int64_t step = int64_t{view_.tile} * AscendC::GetBlockNum();
    for (int64_t at = int64_t{view_.tile} * AscendC::GetBlockIdx(); at < operand.numel; at += step) {
      const int64_t left = operand.numel - at;
      const auto n = static_cast<uint32_t>(left < view_.tile ? left : view_.tile);
      AscendC::Duplicate(vector(0), 0.0f, n);
      for (int64_t block = 0; block < AscendC::GetBlockNum(); ++block) {
        add_loaded(vector(0), workspace_ + operand.parts + block * operand.part_stride + at, n);
      }
      store<U>(k, at, vector(0), n);
    }
  }

 private:
  // Which elements of an input its vector has.
  struct Held {
    int64_t offset;
    uint32_t count;
  };

  // Zeros next to the summed lanes: vectors begin at multiples of 32 bytes.
  static constexpr uint32_t beside = 8;

  __aicore__ inline __gm__ float* kept(int k) const {
    const int64_t array = AscendC::GetBlockIdx() * scans + k;
    return workspace_ + view_.kept + (array * view_.steps + step_) * view_.tile;
  }

  template <bool is_backward>
  __aicore__ inline void scan_step(int k, const Vector& to, const Vector& from) {
    const bool is_first = step_ == (is_backward ? view_.steps - 1 : 0);
    if (!view_.is_across) {
      if (is_first) so_far_ = 0.0f;
      scan_lanes<is_backward>(to, from);
    } else if (is_first) {
      AscendC::Muls(to, from, 1.0f, count_);
    } else {
      AscendC::Add(to, to, from, count_);
    }
    scanned_[k] = step_;
    if (view_.steps == 1) return;
    const Vector result = out_.template AllocTensor<float>();
    AscendC::Muls(result, to, 1.0f, count_);
    send(kept(k), result, count_);
    // Before anything of them is loaded again.
    if (step_ == (is_backward ? 0 : view_.steps - 1)) AscendC::PipeBarrier<PIPE_ALL>();
  }

  // Each step doubles the number of elements in the sum of a lane; elements less than 32 bytes away must be gathered.
  template <bool is_backward>
  __aicore__ inline void scan_lanes(const Vector& to, const Vector& from) {
    const Vector sums = sums_.template Get<float>();
    const uint32_t n = count_, zeros = is_backward ? 0 : beside;
    const Vector lanes = sums[zeros];
    AscendC::Duplicate(sums, 0.0f, n + beside);
    AscendC::Muls(lanes, from, 1.0f, n);
    for (uint32_t distance = 1; distance < n; distance *= 2) {
      if (distance < beside) {
        const uint32_t first = is_backward ? distance : beside - distance;
        AscendC::Gather(to, sums, places_.template Get<uint32_t>(), first * static_cast<uint32_t>(sizeof(float)), n);
        AscendC::Add(lanes, lanes, to, n);
      } else {
        const Vector taken = is_backward ? lanes[distance] : lanes, given = is_backward ? lanes : lanes[distance];
        AscendC::Muls(to, taken, 1.0f, n - distance);
        AscendC::Add(given, given, to, n - distance);
      }
    }
    AscendC::Adds(to, lanes, so_far_, n);
    const auto done = static_cast<event_t>(pipe_.FetchEventID(AscendC::HardEvent::V_S));
    AscendC::SetFlag<AscendC::HardEvent::V_S>(done);
    AscendC::WaitFlag<AscendC::HardEvent::V_S>(done);
    so_far_ = to.GetValue(is_backward ? 0 : n - 1);
  }

  __aicore__ inline Vector spare() { return vector(floats); }
  __aicore__ inline bool is_first() const { return !view_.is_whole || AscendC::GetBlockIdx() == 0; }

  __aicore__ inline uint32_t lanes_from(int64_t begin) const {
    const int64_t left = view_.lanes - begin;
    return static_cast<uint32_t>(left < view_.tile ? left : view_.tile);
  }
  // The most lanes of any step of the row; at least one, because no instruction has none.
  __aicore__ inline uint32_t most_lanes() const {
    if (view_.is_across) return width_;
    return view_.lanes < 1 ? 1 : lanes_from(0);
  }

  __aicore__ inline void enter() {
    if (!is_left()) return;
    const int64_t tile = view_.is_across ? group_ % view_.tiles * view_.tile : 0;
    const int64_t outer = view_.is_across ? group_ / view_.tiles : group_;
    width_ = view_.is_across ? lanes_from(tile) : 1;
    for (int k = 0; k < N; ++k) {
      base_[k] = offset(k, outer, 0, view_.n_outer) + tile * view_.operands[k].lane_stride;
    }
  }

  __aicore__ inline void step_to(int64_t step) {
    step_ = step;
    const int64_t tiles = view_.is_across ? 1 : view_.tiles;
    piece_ = tiles > 0 ? step / tiles : 0;
    begin_ = tiles > 0 ? step % tiles * view_.tile : 0;
    count_ = view_.is_across ? width_ : lanes_from(begin_);
  }

  // The offset of place number `index` in the dimensions from `first` to `last`.
  __aicore__ inline int64_t offset(int k, int64_t index, int32_t first, int32_t last) const {
    int64_t at = 0;
    for (int32_t d = last - 1; d >= first; --d) {
      at += index % view_.sizes[d] * view_.operands[k].strides[d];
      index /= view_.sizes[d];
    }
    return at;
  }
  __aicore__ inline int64_t here(int k) const {
    const int64_t at = base_[k] + offset(k, piece_, view_.n_outer, view_.rank);
    return view_.is_across ? at : at + begin_ * view_.operands[k].lane_stride;
  }

  // Copies `n` elements that lie so far apart into local memory; those that lie apart get 32 bytes each.
  template <class U>
  __aicore__ inline AscendC::LocalTensor<U> load(const __gm__ U* data, uint32_t n, int64_t stride) {
    AscendC::GlobalTensor<U> from;
    from.SetGlobalBuffer(const_cast<__gm__ U*>(data));
    const auto bytes = static_cast<uint32_t>(sizeof(U));
    AscendC::DataCopyExtParams rows{1, n * bytes, 0, 0, 0};
    if (stride > 1 && n > 1) rows = {static_cast<uint16_t>(n), bytes, static_cast<uint32_t>(stride - 1) * bytes, 0, 0};
    const AscendC::LocalTensor<U> loaded = in_.template AllocTensor<U>();
    AscendC::DataCopyPad(loaded, from, rows, AscendC::DataCopyPadExtParams<U>{false, 0, 0, 0});
    in_.EnQue(loaded);
    return in_.template DeQue<U>();
  }

  template <class U>
  __aicore__ inline void fetch(int k, int64_t at, uint32_t count, const Vector& to) {
    if (held_[k].offset == at && held_[k].count == count) return;
    held_[k] = Held{at, count};
    const int64_t stride = view_.operands[k].lane_stride;
    const uint32_t n = stride == 0 ? 1 : count;
    AscendC::LocalTensor<U> loaded = load(reinterpret_cast<const __gm__ U*>(data_[k]) + at, n, stride);
    if (stride > 1 && n > 1) {
      const AscendC::LocalTensor<U> gathered = spare().template ReinterpretCast<U>();
      AscendC::Gather(gathered, loaded, offsets_.template Get<uint32_t>(), 0, n);
      widen(to, gathered, n);
    } else {
      widen(to, loaded, n);
    }
    in_.FreeTensor(loaded);
    if (n < count) fill(to, count);
  }

  __aicore__ inline void fetch_mask(int k, int64_t at, uint32_t count, const Mask& to) {
    if (held_[k].offset == at && held_[k].count == count) return;
    held_[k] = Held{at, count};
    const uint32_t n = view_.operands[k].lane_stride == 0 ? 1 : count;
    AscendC::LocalTensor<uint8_t> loaded = load<uint8_t>(data_[k] + at, n, 1);
    const auto halves = halves_.template Get<::half>();
    AscendC::Cast(halves, loaded, AscendC::RoundMode::CAST_NONE, n);
    AscendC::Cast(spare(), halves, AscendC::RoundMode::CAST_NONE, n);
    in_.FreeTensor(loaded);
    if (n < count) fill(spare(), count);
    AscendC::CompareScalar(to, spare(), 0.0f, AscendC::CMPMODE::NE, whole(count));
  }

  // The first element in every lane.
  __aicore__ inline void fill(const Vector& value, uint32_t n) {
    const auto done = static_cast<event_t>(pipe_.FetchEventID(AscendC::HardEvent::V_S));
    AscendC::SetFlag<AscendC::HardEvent::V_S>(done);
    AscendC::WaitFlag<AscendC::HardEvent::V_S>(done);
    AscendC::Duplicate(value, value.GetValue(0), n);
  }

  template <class U>
  __aicore__ inline void store(int k, int64_t at, const Vector& from, uint32_t n) {
    const AscendC::LocalTensor<U> result = out_.template AllocTensor<U>();
    narrow(result, from, n);
    send(reinterpret_cast<__gm__ U*>(data_[k]) + at, result, n);
  }
  __aicore__ inline void store(int k, int64_t at, const Mask& from, uint32_t n) {
    const AscendC::LocalTensor<uint8_t> result = out_.template AllocTensor<uint8_t>();
    to_numbers(spare(), from, n);
    const auto halves = halves_.template Get<::half>();
    AscendC::Cast(halves, spare(), AscendC::RoundMode::CAST_NONE, n);
    AscendC::Cast(result, halves, AscendC::RoundMode::CAST_NONE, n);
    send(data_[k] + at, result, n);
  }

  template <class U>
  __aicore__ inline void send(__gm__ U* data, const AscendC::LocalTensor<U>& result, uint32_t n) {
    out_.EnQue(result);
    AscendC::LocalTensor<U> sent = out_.template DeQue<U>();
    AscendC::GlobalTensor<U> to;
    to.SetGlobalBuffer(data);
    AscendC::DataCopyPad(to, sent, AscendC::DataCopyExtParams{1, static_cast<uint32_t>(n * sizeof(U)), 0, 0, 0});
    out_.FreeTensor(sent);
  }

  template <class U>
  __aicore__ inline void add_up(int k, int64_t at, const Vector& from, uint32_t n) {
    const auto& operand = view_.operands[k];
    Vector value = from;
    if (operand.lane_stride == 0 && n > 1) {
      value = total_.template Get<float>();
      AscendC::ReduceSum(value, from, work_.template Get<float>(), n);
      n = 1;
    }
    if (!operand.is_shared) return store<U>(k, at, value, n);
    // Stores of one block keep their order, and so does this sum.
    const Vector result = out_.template AllocTensor<float>();
    AscendC::Muls(result, value, 1.0f, n);
    AscendC::SetAtomicAdd<float>();
    send(workspace_ + operand.parts + AscendC::GetBlockIdx() * operand.part_stride + at, result, n);
    AscendC::SetAtomicNone();
  }

  template <class How>
  __aicore__ inline void reduce(const Vector& all) {
    if (!view_.is_across) {
      const Vector one = total_.template Get<float>();
      How::lanes(one, all, work_.template Get<float>(), most_lanes());
      AscendC::Muls(all, one, 1.0f, 1);
    }
    if (view_.is_whole) meet<How>(all);
  }

  // Blocks that share a row tell each other what they have come to; every other time elsewhere, so that none is
  // overwritten before all have read it.
  template <class How>
  __aicore__ inline void meet(const Vector& all) {
    __gm__ float* const place = workspace_ + view_.exchange + (is_odd_ ? AscendC::GetBlockNum() * view_.tile : 0);
    is_odd_ = !is_odd_;
    const Vector result = out_.template AllocTensor<float>();
    AscendC::Muls(result, all, 1.0f, width_);
    send(place + AscendC::GetBlockIdx() * view_.tile, result, width_);
    wait_for_all();
    for (int64_t block = 0; block < AscendC::GetBlockNum(); ++block) {
      Vector part = load<float>(place + block * view_.tile, width_, 1);
      if (block == 0) {
        AscendC::Muls(all, part, 1.0f, width_);
      } else {
        How::join(all, part, width_);
      }
      in_.FreeTensor(part);
    }
  }

  __aicore__ inline void add_loaded(const Vector& to, const __gm__ float* from, uint32_t n) {
    Vector part = load<float>(from, n, 1);
    AscendC::Add(to, to, part, n);
    in_.FreeTensor(part);
  }

  __aicore__ inline void wait_for_all() {
    AscendC::PipeBarrier<PIPE_ALL>();
    AscendC::SyncAll();
  }

  // Writes the offset of each lane, so many bytes apart.
  __aicore__ inline void count_offsets(AscendC::TBuf<AscendC::TPosition::VECCALC>& to, int32_t bytes) {
    pipe_.InitBuffer(to, view_.tile * sizeof(uint32_t));
    const AscendC::LocalTensor<int32_t> offsets = to.template Get<int32_t>();
    AscendC::CreateVecIndex(offsets, 0, view_.tile);
    AscendC::Muls(offsets, offsets, bytes, view_.tile);
  }

  const View<N>& view_;
  __gm__ float* workspace_;
  __gm__ uint8_t* data_[N];
  int64_t base_[N];
  Held held_[N];
  int64_t group_ = 0, step_ = 0, piece_ = 0, begin_ = 0;
  uint32_t count_ = 0, width_ = 0;
  int64_t scanned_[scans + 1] = {};  // the step whose sums each vector has
  float so_far_ = 0.0f;              // what the steps before have added up to
  bool is_odd_ = false, is_done_ = false;
  AscendC::TPipe pipe_;
  AscendC::TQue<AscendC::TPosition::VECIN, 2> in_;
  AscendC::TQue<AscendC::TPosition::VECOUT, 2> out_;
  AscendC::TBuf<AscendC::TPosition::VECCALC> floats_, masks_, halves_, work_, total_, offsets_, sums_, places_;
};

}  // namespace npu
}  // namespace ob
#endif

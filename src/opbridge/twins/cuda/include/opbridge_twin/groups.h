// Groups of at most a warp, blocks, and the whole grid of a cooperative launch; wide_tiles.h has the rest.
#ifndef OPBRIDGE_TWIN_GROUPS_H
#define OPBRIDGE_TWIN_GROUPS_H

#include <cuda_runtime.h>

namespace cooperative_groups {

namespace details {

OB_TWIN_INLINE unsigned thread_rank() { return opbridge_twin::this_thread(); }
OB_TWIN_INLINE unsigned block_rank() { return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); }
OB_TWIN_INLINE unsigned threads_of_block() { return blockDim.x * blockDim.y * blockDim.z; }
OB_TWIN_INLINE unsigned blocks_of_grid() { return gridDim.x * gridDim.y * gridDim.z; }

// The lane of the rank-th bit of a mask.
OB_TWIN_INLINE int lane_of_rank(unsigned mask, unsigned rank) {
  const int first = mask == 0 ? 32 : __builtin_ctz(mask);
  const uint64_t from_first = static_cast<uint64_t>(mask) >> first;
  if ((from_first & (from_first + 1)) == 0) return first + static_cast<int>(rank);  // without a gap
  for (; rank > 0; --rank) mask &= mask - 1;
  return __builtin_ctz(mask);
}

// Values of any size, moved in words as the hardware does.
template <class T, class Move>
OB_TWIN_INLINE T by_words(const T& value, const Move& move) {
  if constexpr (sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8) {
    return opbridge_twin::bits_as<T>(move(opbridge_twin::bits_as<opbridge_twin::BitsOf<T>>(value)));
  } else {
    constexpr int kWords = (sizeof(T) + 3) / 4;
    unsigned words[kWords] = {};
    __builtin_memcpy(words, &value, sizeof(T));
    for (unsigned& word : words) word = move(word);
    T result = value;
    __builtin_memcpy(&result, words, sizeof(T));
    return result;
  }
}

// Lanes of one warp, as a mask: all that tiles and coalesced groups do.
class Lanes {
 public:
  OB_TWIN_INLINE void sync() const { __syncwarp(mask_); }
  OB_TWIN_INLINE unsigned num_threads() const { return static_cast<unsigned>(__builtin_popcount(mask_)); }
  OB_TWIN_INLINE unsigned size() const { return num_threads(); }
  OB_TWIN_INLINE unsigned thread_rank() const {
    return static_cast<unsigned>(__builtin_popcount(mask_ & ((1u << opbridge_twin::this_lane()) - 1)));
  }

  template <class T>
  OB_TWIN_INLINE T shfl(T value, int source) const {
    return from(value, static_cast<unsigned>(source) % num_threads());
  }
  template <class T>
  OB_TWIN_INLINE T shfl_up(T value, unsigned delta) const {
    const unsigned rank = thread_rank();
    return from(value, delta > rank ? rank : rank - delta);
  }
  template <class T>
  OB_TWIN_INLINE T shfl_down(T value, unsigned delta) const {
    const unsigned rank = thread_rank();
    return from(value, rank + delta >= num_threads() ? rank : rank + delta);
  }
  template <class T>
  OB_TWIN_INLINE T shfl_xor(T value, unsigned mask) const {
    const unsigned rank = thread_rank();
    return from(value, (rank ^ mask) >= num_threads() ? rank : rank ^ mask);
  }

  OB_TWIN_INLINE int any(int predicate) const { return __any_sync(mask_, predicate); }
  OB_TWIN_INLINE int all(int predicate) const { return __all_sync(mask_, predicate); }
  OB_TWIN_INLINE unsigned ballot(int predicate) const { return ranks(__ballot_sync(mask_, predicate)); }
  template <class T>
  OB_TWIN_INLINE unsigned match_any(T value) const {
    return ranks(__match_any_sync(mask_, value));
  }
  template <class T>
  OB_TWIN_INLINE unsigned match_all(T value, int& all) const {
    return ranks(__match_all_sync(mask_, value, &all));
  }

  OB_TWIN_INLINE unsigned lanes() const { return mask_; }

 protected:
  OB_TWIN_INLINE explicit Lanes(unsigned mask) : mask_(mask) {}

 private:
  template <class T>
  OB_TWIN_INLINE T from(const T& value, unsigned rank) const {
    const int lane = lane_of_rank(mask_, rank);
    return by_words(value, [&](auto word) { return opbridge_twin::shuffle(mask_, "a group's shfl", word, lane); });
  }
  // Bits by lane as bits by rank.
  OB_TWIN_INLINE unsigned ranks(unsigned lanes) const {
    unsigned result = 0, rank = 0;
    for (unsigned rest = mask_; rest != 0; rest &= rest - 1, ++rank) {
      result |= (lanes >> __builtin_ctz(rest) & 1) << rank;
    }
    return result;
  }

  unsigned mask_;
};

}  // namespace details

// Stands for the caller's own block and holds nothing.
class thread_block {
 public:
  OB_TWIN_INLINE static void sync() { __syncthreads(); }
  OB_TWIN_INLINE static unsigned thread_rank() { return details::thread_rank(); }
  OB_TWIN_INLINE static unsigned num_threads() { return details::threads_of_block(); }
  OB_TWIN_INLINE static unsigned size() { return num_threads(); }
  OB_TWIN_INLINE static dim3 group_index() { return blockIdx; }
  OB_TWIN_INLINE static dim3 thread_index() { return threadIdx; }
  OB_TWIN_INLINE static dim3 dim_threads() { return blockDim; }
  OB_TWIN_INLINE static dim3 group_dim() { return blockDim; }
};
OB_TWIN_INLINE thread_block this_thread_block() { return {}; }

// Stands for the launch; its barrier is there for cooperative launches alone.
class grid_group {
 public:
  OB_TWIN_INLINE bool is_valid() const { return ob_twin_is_cooperative() != 0; }
  OB_TWIN_INLINE void sync() const {
    const opbridge_twin::Pause pause;
    ob_twin_grid_barrier(pause.thread);
  }
  OB_TWIN_INLINE unsigned long long thread_rank() const {
    return static_cast<unsigned long long>(details::block_rank()) * details::threads_of_block() +
           details::thread_rank();
  }
  OB_TWIN_INLINE unsigned long long num_threads() const {
    return static_cast<unsigned long long>(details::blocks_of_grid()) * details::threads_of_block();
  }
  OB_TWIN_INLINE unsigned long long size() const { return num_threads(); }
  OB_TWIN_INLINE unsigned long long block_rank() const { return details::block_rank(); }
  OB_TWIN_INLINE unsigned long long num_blocks() const { return details::blocks_of_grid(); }
  OB_TWIN_INLINE dim3 group_dim() const { return gridDim; }
  OB_TWIN_INLINE dim3 dim_blocks() const { return gridDim; }
  OB_TWIN_INLINE dim3 block_index() const { return blockIdx; }
};
OB_TWIN_INLINE grid_group this_grid() { return {}; }

// The lanes that ran together when it was made; a lane of them may not be left out later.
class coalesced_group : public details::Lanes {
 public:
  OB_TWIN_INLINE explicit coalesced_group(unsigned mask, unsigned rank = 0, unsigned groups = 1)
      : Lanes(mask), rank_(rank), groups_(groups) {}
  OB_TWIN_INLINE unsigned meta_group_rank() const { return rank_; }
  OB_TWIN_INLINE unsigned meta_group_size() const { return groups_; }

 private:
  unsigned rank_, groups_;
};
OB_TWIN_INLINE coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

// A group whose size is known at compile time.
template <unsigned kSize, class Parent = void>
class thread_block_tile : public details::Lanes {
  static_assert(kSize > 0 && (kSize & (kSize - 1)) == 0, "a tile's size is a power of two");
  static_assert(kSize <= 32, "a tile has at most 1024 threads");

 public:
  OB_TWIN_INLINE thread_block_tile() : Lanes(lanes_of_tile()), threads_(details::threads_of_block()) {}
  template <class Other>
  OB_TWIN_INLINE thread_block_tile(const thread_block_tile<kSize, Other>&) : thread_block_tile() {}
  OB_TWIN_INLINE static constexpr unsigned num_threads() { return kSize; }
  OB_TWIN_INLINE static constexpr unsigned size() { return kSize; }
  OB_TWIN_INLINE static unsigned thread_rank() { return details::thread_rank() % kSize; }
  OB_TWIN_INLINE unsigned meta_group_rank() const { return details::thread_rank() % of() / kSize; }
  OB_TWIN_INLINE unsigned meta_group_size() const { return (of() + kSize - 1) / kSize; }

 private:
  OB_TWIN_INLINE static unsigned lanes_of_tile() {
    return (kSize == 32 ? ~0u : (1u << kSize % 32) - 1)
           << (static_cast<unsigned>(opbridge_twin::this_lane()) & ~(kSize - 1));
  }
  // The threads of the group that was divided.
  OB_TWIN_INLINE unsigned of() const {
    if constexpr (std::is_same<Parent, void>::value || std::is_same<Parent, thread_block>::value) {
      return threads_;
    } else {
      return Parent::num_threads();
    }
  }

  unsigned threads_;
};

// Any of those within a block.
class thread_group : public details::Lanes {
 public:
  OB_TWIN_INLINE thread_group(const thread_block&) : Lanes(0), block_(true) {}
  OB_TWIN_INLINE thread_group(const details::Lanes& lanes) : Lanes(lanes), block_(false) {}
  OB_TWIN_INLINE void sync() const { block_ ? __syncthreads() : Lanes::sync(); }
  OB_TWIN_INLINE unsigned num_threads() const { return block_ ? details::threads_of_block() : Lanes::num_threads(); }
  OB_TWIN_INLINE unsigned size() const { return num_threads(); }
  OB_TWIN_INLINE unsigned thread_rank() const { return block_ ? details::thread_rank() : Lanes::thread_rank(); }

 private:
  bool block_;
};

template <unsigned kSize, class Parent>
OB_TWIN_INLINE thread_block_tile<kSize, Parent> tiled_partition(const Parent& parent) {
  if constexpr (kSize > 32) {
    return thread_block_tile<kSize, Parent>(parent);
  } else {
    return {};
  }
}
// For a size that is known only at run time.
OB_TWIN_INLINE thread_group tiled_partition(const thread_group&, unsigned size) {
  const unsigned first = static_cast<unsigned>(opbridge_twin::this_lane()) / size * size;
  return coalesced_group((size >= 32 ? ~0u : (1u << size) - 1) << first);
}

OB_TWIN_INLINE coalesced_group labeled_partition(const details::Lanes& group, int label) {
  const unsigned mine = __match_any_sync(group.lanes(), label);
  unsigned seen = 0, rank = 0, groups = 0;
  for (unsigned rest = group.lanes(); rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    const unsigned members = opbridge_twin::shuffle(group.lanes(), "labeled_partition", mine, lane);
    if (seen >> lane & 1) continue;
    if (members == mine) rank = groups;
    seen |= members;
    ++groups;
  }
  return coalesced_group(mine, rank, groups);
}
OB_TWIN_INLINE coalesced_group binary_partition(const details::Lanes& group, bool predicate) {
  const unsigned yes = __ballot_sync(group.lanes(), predicate), no = group.lanes() & ~yes;
  return coalesced_group(predicate ? yes : no, predicate && no != 0 ? 1 : 0, (yes != 0) + (no != 0));
}

template <class Group>
OB_TWIN_INLINE void sync(const Group& group) {
  group.sync();
}

// One thread of the group does it.
template <class Group, class F, class... Arguments>
OB_TWIN_INLINE void invoke_one(const Group& group, F&& f, Arguments&&... arguments) {
  if (group.thread_rank() == 0) static_cast<F&&>(f)(static_cast<Arguments&&>(arguments)...);
}

}  // namespace cooperative_groups

#endif

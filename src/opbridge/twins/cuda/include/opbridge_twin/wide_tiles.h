// Tiles of several warps: a barrier and a place for each warp's part, in the block's memory.
#ifndef OPBRIDGE_TWIN_WIDE_TILES_H
#define OPBRIDGE_TWIN_WIDE_TILES_H

#include <cuda_awbarrier_primitives.h>
#include <opbridge_twin/groups.h>

namespace cooperative_groups {

// What GPUs before the twin's keep the tiles' barriers in.
template <unsigned kMostThreads>
struct block_tile_memory {
  char unused;
};
template <unsigned kMostThreads>
OB_TWIN_INLINE thread_block this_thread_block(block_tile_memory<kMostThreads>&) {
  return {};
}

namespace details {

template <unsigned kSize>
struct TilesOfBlock {
  static constexpr unsigned kPartBytes = 32;
  __mbarrier_t barriers[1024 / kSize];
  alignas(16) char parts[1024 / 32][kPartBytes];
};

template <unsigned kSize, class Parent>
class WideTile {
 public:
  // All threads of the parent make theirs together.
  OB_TWIN_INLINE explicit WideTile(const Parent& parent) : of_(static_cast<unsigned>(parent.num_threads())) {
    static unsigned slot = 0;
    tiles_ = static_cast<TilesOfBlock<kSize>*>(
        ob_twin_shared(&slot, sizeof(TilesOfBlock<kSize>), alignof(TilesOfBlock<kSize>), "tiles of more than a warp"));
    parent.sync();
    if (thread_rank() == 0) __mbarrier_init(barrier(), kSize);
    parent.sync();
  }

  OB_TWIN_INLINE void sync() const {
    const __mbarrier_token_t token = __mbarrier_arrive(barrier());
    while (!__mbarrier_test_wait(barrier(), token)) {
    }
  }
  OB_TWIN_INLINE static constexpr unsigned num_threads() { return kSize; }
  OB_TWIN_INLINE static constexpr unsigned size() { return kSize; }
  OB_TWIN_INLINE static unsigned thread_rank() { return details::thread_rank() % kSize; }
  OB_TWIN_INLINE unsigned meta_group_rank() const { return details::thread_rank() % of_ / kSize; }
  OB_TWIN_INLINE unsigned meta_group_size() const { return (of_ + kSize - 1) / kSize; }

  OB_TWIN_INLINE int any(int predicate) const {
    return join(__any_sync(~0u, predicate), [](int a, int b) { return a | b; });
  }
  OB_TWIN_INLINE int all(int predicate) const {
    return join(__all_sync(~0u, predicate), [](int a, int b) { return a & b; });
  }

  // What the warps have, which is alike in the lanes of one, put together in the order of the warps.
  template <class T, class Operation>
  OB_TWIN_INLINE T join(const T& value, const Operation& operation) const {
    static_assert(sizeof(T) <= TilesOfBlock<kSize>::kPartBytes, "a tile of several warps joins values of 32 bytes");
    const unsigned warp = details::thread_rank() / 32, first = warp - thread_rank() / 32;
    if (opbridge_twin::this_lane() == 0) *part<T>(warp) = value;
    sync();
    T result = *part<T>(first);
    for (unsigned other = first + 1; other < first + kSize / 32; ++other) result = operation(result, *part<T>(other));
    sync();
    return result;
  }

 private:
  OB_TWIN_INLINE __mbarrier_t* barrier() const { return &tiles_->barriers[details::thread_rank() / kSize]; }
  template <class T>
  OB_TWIN_INLINE T* part(unsigned warp) const {
    return reinterpret_cast<T*>(tiles_->parts[warp]);
  }

  TilesOfBlock<kSize>* tiles_;
  unsigned of_;
};

}  // namespace details

#define OB_TWIN_WIDE_TILE(kSize)                                                                          \
  template <class Parent>                                                                                 \
  class thread_block_tile<kSize, Parent> : public details::WideTile<kSize, Parent> {                      \
   public:                                                                                                \
    OB_TWIN_INLINE explicit thread_block_tile(const Parent& of) : details::WideTile<kSize, Parent>(of) {} \
  };
OB_TWIN_WIDE_TILE(64)
OB_TWIN_WIDE_TILE(128)
OB_TWIN_WIDE_TILE(256)
OB_TWIN_WIDE_TILE(512)
OB_TWIN_WIDE_TILE(1024)
#undef OB_TWIN_WIDE_TILE

}  // namespace cooperative_groups

#endif

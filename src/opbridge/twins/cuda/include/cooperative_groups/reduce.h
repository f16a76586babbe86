// reduce(group, value, operation): combines the values of all threads of a tile or coalesced group.
#ifndef OPBRIDGE_TWIN_COOPERATIVE_GROUPS_REDUCE_H
#define OPBRIDGE_TWIN_COOPERATIVE_GROUPS_REDUCE_H

#include <cooperative_groups.h>

namespace cooperative_groups {

#define OB_TWIN_OPERATION(name, expression)                                          \
  template <class T>                                                                 \
  struct name {                                                                      \
    OB_TWIN_INLINE T operator()(const T& a, const T& b) const { return expression; } \
  };
OB_TWIN_OPERATION(plus, a + b)
OB_TWIN_OPERATION(less, b < a ? b : a)
OB_TWIN_OPERATION(greater, a < b ? b : a)
OB_TWIN_OPERATION(bit_and, a& b)
OB_TWIN_OPERATION(bit_or, a | b)
OB_TWIN_OPERATION(bit_xor, a ^ b)
#undef OB_TWIN_OPERATION

// In the order of the ranks, halving: the same order for every thread, so all get the same bits.
template <class Group, class T, class Operation>
OB_TWIN_INLINE T reduce(const Group& group, T value, Operation operation) {
  const unsigned rank = group.thread_rank(), count = group.num_threads();
  unsigned width = 1;
  while (width < count) width *= 2;
  for (width /= 2; width > 0; width /= 2) {
    const T other = group.shfl_down(value, width);
    if (rank < width && rank + width < count) value = operation(value, other);
  }
  return group.shfl(value, 0);
}

// For several warps: reduces each warp, and then their results.
template <unsigned kSize, class Parent, class T, class Operation>
OB_TWIN_INLINE std::enable_if_t<(kSize > 32), T> reduce(const thread_block_tile<kSize, Parent>& tile, T value,
                                                        Operation operation) {
  return tile.join(reduce(thread_block_tile<32>(), value, operation), operation);
}

}  // namespace cooperative_groups

#endif

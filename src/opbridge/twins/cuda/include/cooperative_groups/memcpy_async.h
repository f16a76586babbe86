// memcpy_async(group, to, from, bytes), which copies at once, and wait(group) for it.
#ifndef OPBRIDGE_TWIN_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H
#define OPBRIDGE_TWIN_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H

#include <cooperative_groups.h>

namespace cooperative_groups {

template <class Group, class T>
OB_TWIN_INLINE void memcpy_async(const Group& group, T* to, const T* from, size_t bytes) {
  auto* target = reinterpret_cast<unsigned char*>(to);
  auto* source = reinterpret_cast<const unsigned char*>(from);
  for (size_t i = group.thread_rank(); i < bytes; i += group.num_threads()) target[i] = source[i];
}

template <class Group>
OB_TWIN_INLINE void wait(const Group& group) {
  group.sync();
}
template <unsigned kStages, class Group>
OB_TWIN_INLINE void wait_prior(const Group& group) {
  group.sync();
}

}  // namespace cooperative_groups

#endif

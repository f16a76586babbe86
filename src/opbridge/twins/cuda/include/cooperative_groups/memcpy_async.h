// memcpy_async(group, to, from, bytes), which copies at once, and the waits for it, until which the checks count it as
// under way.
#ifndef OPBRIDGE_TWIN_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H
#define OPBRIDGE_TWIN_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H

#include <cooperative_groups.h>

namespace cooperative_groups {

namespace details {

template <class Unit>
OB_TWIN_INLINE void copy_units(void* to, const void* from, size_t first, size_t last) {
  for (size_t i = first; i < last; ++i) static_cast<Unit*>(to)[i] = static_cast<const Unit*>(from)[i];
  ob_twin_copy_begins(static_cast<Unit*>(to) + first, (last - first) * sizeof(Unit));
}

// The calling thread's share of the units, which lie side by side.
template <class Unit, class Group>
OB_TWIN_INLINE void copy_share(const Group& group, void* to, const void* from, size_t units) {
  const size_t share = (units + group.num_threads() - 1) / group.num_threads();
  const size_t first = group.thread_rank() * share;
  if (first < units) copy_units<Unit>(to, from, first, first + share < units ? first + share : units);
}

}  // namespace details

template <class Group, class T>
OB_TWIN_INLINE void memcpy_async(const Group& group, T* to, const T* from, size_t bytes) {
  const bool in_words =
      (reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | bytes) % sizeof(unsigned) == 0;
  if (in_words) {
    details::copy_share<unsigned>(group, to, from, bytes / sizeof(unsigned));
  } else {
    details::copy_share<unsigned char>(group, to, from, bytes);
  }
  ob_twin_copies_commit();
}

template <class Group>
OB_TWIN_INLINE void wait(const Group& group) {
  ob_twin_copies_wait_for_all();
  group.sync();
}
template <unsigned kStages, class Group>
OB_TWIN_INLINE void wait_prior(const Group& group) {
  ob_twin_copies_wait(kStages);
  group.sync();
}

}  // namespace cooperative_groups

#endif

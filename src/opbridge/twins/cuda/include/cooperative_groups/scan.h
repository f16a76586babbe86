// inclusive_scan and exclusive_scan over the threads of a tile or coalesced group.
#ifndef OPBRIDGE_TWIN_COOPERATIVE_GROUPS_SCAN_H
#define OPBRIDGE_TWIN_COOPERATIVE_GROUPS_SCAN_H

#include <cooperative_groups/reduce.h>

namespace cooperative_groups {

template <class Group, class T, class Operation>
OB_TWIN_INLINE T inclusive_scan(const Group& group, T value, Operation operation) {
  for (unsigned step = 1; step < group.num_threads(); step *= 2) {
    const T before = group.shfl_up(value, step);
    if (group.thread_rank() >= step) value = operation(before, value);
  }
  return value;
}
template <class Group, class T>
OB_TWIN_INLINE T inclusive_scan(const Group& group, T value) {
  return inclusive_scan(group, value, plus<T>());
}

// The first thread gets T().
template <class Group, class T, class Operation>
OB_TWIN_INLINE T exclusive_scan(const Group& group, T value, Operation operation) {
  const T before = group.shfl_up(inclusive_scan(group, value, operation), 1);
  return group.thread_rank() == 0 ? T() : before;
}
template <class Group, class T>
OB_TWIN_INLINE T exclusive_scan(const Group& group, T value) {
  return exclusive_scan(group, value, plus<T>());
}

}  // namespace cooperative_groups

#endif

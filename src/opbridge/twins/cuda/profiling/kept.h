// What has been counted, for the time when the process ends.
#ifndef OPBRIDGE_TWIN_PROFILING_KEPT_H
#define OPBRIDGE_TWIN_PROFILING_KEPT_H

#include "counters.h"

namespace opbridge_twin::profile {

// Whether the running launch is one of those of its kernel that are profiled: the first ones, and then ever fewer.
bool launch_is_profiled();
// Returns whether this is the first launch of its kernel with these sizes.
bool launch_is_first();

// Adds what a block of the running launch has cost, which is forgotten there.
void keep(Counters& counters, size_t static_shared_bytes);
// The block did more than is kept of one.
void leave_out();

}  // namespace opbridge_twin::profile
#endif

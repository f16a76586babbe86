// Which blocks of a launch are checked, where a kernel is there with checks and without.
#ifndef OPBRIDGE_TWIN_RUNTIME_ENGINE_SAMPLING_H
#define OPBRIDGE_TWIN_RUNTIME_ENGINE_SAMPLING_H

#include <opbridge_twin/runtime.h>

#include <vector>

#include "checks/checks.h"

namespace opbridge_twin {

struct Sample {
  ob_twin_body body;  // with checks; null where no block is checked
  bool all;
  std::vector<uint64_t> blocks;  // rising; unless all
};

// OPBRIDGE_TWIN_CHECKS=0 has none checked, and OPBRIDGE_TWIN_CHECK_BLOCKS=N the first, the last and others that the
// number of the launch draws, N in all: in a kernel's first launches, and then in ever fewer of them.
Sample sample_of(const ob_twin_kernel* kernel, const checks::LaunchInfo& info, bool cooperative);

// For who asks what comes of kernels.
bool kernels_do_nothing();

// Whether of each launch only a few blocks are to run.  What depends on numbers means nothing then; memory is given out
// as it comes, zeros, and as much as is asked for, since little of it is used.
bool leaves_blocks_out();
// Returns the blocks of a launch that run; empty if all run.
std::vector<uint64_t> blocks_alone(uint64_t blocks);

// Whether host code is run as it is, so that nobody sees what it writes.
bool hosts_are_unseen();

}  // namespace opbridge_twin
#endif

// One launch of a kernel.
#ifndef OPBRIDGE_TWIN_RUNTIME_LAUNCH_H
#define OPBRIDGE_TWIN_RUNTIME_LAUNCH_H

#include <opbridge_twin/runtime.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "checks.h"

namespace opbridge_twin {

// A launch that is valid: its sizes are checked, and its arguments live until it ends.
struct Launch {
  const ob_twin_kernel* kernel;
  const void* arguments;
  ob_twin_dim grid;
  ob_twin_dim block;
  size_t shared_bytes;
  bool cooperative;
  checks::LaunchInfo info;
  checks::Launch* checked;  // null without checks
  ob_twin_body checked_body;
  const std::vector<uint64_t>* sample;  // the blocks with checks, rising; null for all of them
  std::atomic<int> error;

  uint64_t blocks() const { return uint64_t{grid.x} * grid.y * grid.z; }

  bool checks_block(uint64_t block) const {
    return checked != nullptr && (sample == nullptr || std::binary_search(sample->begin(), sample->end(), block));
  }

  // Reports what went wrong in a block, and ends it.
  [[noreturn]] void fail(uint64_t block, checks::Failure failure, const char* what,
                         const std::vector<checks::Waiting>& threads) const {
    if (checks_block(block)) checks::fail(failure, what, threads);
    checks::fail(failure, what, threads, info, block);
  }
};

}  // namespace opbridge_twin
#endif

// One launch of a kernel.
#ifndef OPBRIDGE_TWIN_RUNTIME_LAUNCH_H
#define OPBRIDGE_TWIN_RUNTIME_LAUNCH_H

#include <opbridge_twin/runtime.h>

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
  std::atomic<int> error;

  uint64_t blocks() const { return uint64_t{grid.x} * grid.y * grid.z; }

  // Reports what went wrong in a block, and ends it.
  [[noreturn]] void fail(uint64_t block, checks::Failure failure, const char* what,
                         const std::vector<checks::Waiting>& threads) const {
    if (checked != nullptr) checks::fail(failure, what, threads);
    checks::fail(failure, what, threads, info, block);
  }
};

}  // namespace opbridge_twin
#endif

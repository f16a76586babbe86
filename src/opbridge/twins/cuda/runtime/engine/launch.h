// One launch of a kernel, and the launches that it makes itself.
#ifndef OPBRIDGE_TWIN_RUNTIME_ENGINE_LAUNCH_H
#define OPBRIDGE_TWIN_RUNTIME_ENGINE_LAUNCH_H

#include <driver_types.h>
#include <opbridge_twin/runtime.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "checks/checks.h"

namespace opbridge_twin {

// The arguments of `<<<...>>>`, kept until the following call of the kernel.
struct Configuration {
  ob_twin_dim grid;
  ob_twin_dim block;
  size_t shared_bytes;
  bool cooperative;
  bool given;
  const void* made_at;
  cudaStream_t stream;
};

// A launch that device code has asked for: it runs when the launching grid has ended.
struct Child {
  uint64_t block;  // that asked
  Configuration configuration;
  const ob_twin_kernel* known;  // null where it is in `kernel`
  ob_twin_kernel kernel;
  const char* name;
  std::vector<unsigned char> arguments;

  bool is_tail() const { return configuration.stream == cudaStreamTailLaunch; }
};

// The children of one launch, from all OS threads that run its blocks.
class Children {
 public:
  void add(Child child);
  // Children of the first block come first, and those that wait for the whole grid last.
  std::vector<Child> take();

 private:
  std::mutex mutex_;
  std::vector<Child> all_;
};

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
  std::atomic<int> error;  // of any block that failed; read when all have ended, or to begin no further ones
  Children children;
  mutable std::atomic<bool> has_noted_return = false;

  uint64_t piece = 0;          // the blocks that an OS thread takes at a time; 0 if each thread has fixed blocks
  uint64_t most_resident = 0;  // blocks that the device holds at a time
  // Counters, each changed by one read-modify-write at a time, so that no block is taken twice.  Relaxed is enough:
  // what blocks write is ordered by the pool, which begins and ends all of them.
  std::atomic<uint64_t> next = 0;      // the first that nobody has taken
  std::atomic<uint64_t> resident = 0;  // begun and not over, where some wait for others

  uint64_t blocks() const { return uint64_t{grid.x} * grid.y * grid.z; }

  // Gives the caller the next blocks; false where none are left.
  bool take(uint64_t& begin, uint64_t& end);
  // Makes room for one more block on the device; false where it is full, and a block has to end first.
  bool enter();
  void leave() { resident.fetch_sub(1, std::memory_order_relaxed); }

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

// Runs the blocks of a launch on all OS threads, or only those of its sample.  Returns when the last has ended.
void run(Launch& launch, bool sample_alone);

}  // namespace opbridge_twin
#endif

// What nvcc makes of reads that g++ leaves apart: a thread's neighbouring reads of shared memory, up to 16 bytes at a
// multiple of as many, become one instruction.
#ifndef OPBRIDGE_TWIN_PROFILING_JOINING_H
#define OPBRIDGE_TWIN_PROFILING_JOINING_H

#include <stdint.h>

#include "requests.h"

namespace opbridge_twin::profile {

// Of one warp, between two barriers.  Each read is open until another goes on from its end in all lanes, or until
// something is written, which no compiler moves a read over.
class Joining {
 public:
  Joining() = default;
  Joining(const Joining&) = delete;
  Joining& operator=(const Joining&) = delete;
  ~Joining() { close_all(); }

  // Its passes, and those of what joins it, are added to `passes` by the time that all are closed.
  void read(const Request& request, uint64_t& passes);
  void close_all();

 private:
  struct Open {
    Request request;      // the first, whose `bytes` each that joins it has
    unsigned length = 0;  // of all, in bytes; 0 where none is open
    unsigned most = 0;    // as its lanes' addresses allow
    uint64_t* passes = nullptr;
  };

  static bool goes_on(const Open& open, const Request& request);
  static void close(Open& open);

  // As many arrays as a loop reads side by side.
  static constexpr unsigned kOpen = 8;
  Open open_[kOpen];
  unsigned next_ = 0;
};

}  // namespace opbridge_twin::profile
#endif

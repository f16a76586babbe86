// Copies to shared memory that a thread has begun and not waited for: until then nobody may read what they write.
#ifndef OPBRIDGE_TWIN_CHECKS_COPIES_IN_FLIGHT_H
#define OPBRIDGE_TWIN_CHECKS_COPIES_IN_FLIGHT_H

#include <stddef.h>
#include <stdint.h>

#include <optional>
#include <vector>

namespace opbridge_twin::checks {

// One of a thread's, with its place in the code.
struct CopyInFlight {
  uint32_t thread;
  uint32_t group;  // how many the thread had committed before
  uintptr_t to;
  size_t bytes;
  const void* at;

  bool holds(uintptr_t address) const { return address - to < bytes; }
};

// Those of the running block.  The twin copies at once; what a copy writes counts as unset until its thread has waited,
// and as written by that thread then.
class CopiesInFlight {
 public:
  void begin(uint32_t thread, uintptr_t to, size_t bytes, const void* at);
  // Ends a group of the thread's.
  void commit(uint32_t thread);
  // Waits for all but the thread's last `prior` groups; what it has not committed stays in flight.
  void wait(uint32_t thread, uint32_t prior);
  // Waits for everything that the thread has begun.
  void wait_for_all(uint32_t thread);
  // For the next block.
  void clear();

  // The copy that may still write there.
  std::optional<CopyInFlight> at(uintptr_t address) const;
  bool is_committed(const CopyInFlight& copy) const { return copy.group < threads_[copy.thread].committed; }

 private:
  struct Thread {
    uint32_t committed = 0;            // groups
    std::vector<CopyInFlight> copies;  // by group, rising
  };

  Thread& of(uint32_t thread);
  static void finish_before(Thread& thread, uint32_t group);

  std::vector<Thread> threads_;  // empty where the block has begun no copy
};

}  // namespace opbridge_twin::checks

#endif  // OPBRIDGE_TWIN_CHECKS_COPIES_IN_FLIGHT_H

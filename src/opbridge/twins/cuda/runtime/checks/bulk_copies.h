// Bulk copies from shared memory through the asynchronous proxy.  The proxy sees writes of threads only after a proxy
// fence, and reads until the thread that requested the copy has waited for its group.
#ifndef OPBRIDGE_TWIN_CHECKS_BULK_COPIES_H
#define OPBRIDGE_TWIN_CHECKS_BULK_COPIES_H

#include <stddef.h>
#include <stdint.h>

#include <vector>

#include "state.h"

namespace opbridge_twin::checks {

// The bulk copies of the running block.  The twin copies at once and marks the cells of the source until the thread has
// waited; a write in between changes the mark.
class BulkCopies {
 public:
  // The thread has passed a proxy fence.
  void fenced(uint32_t thread);
  // It copies from shared memory.
  void reads(uint32_t thread, uintptr_t from, size_t bytes, const void* at);
  void has_read(uintptr_t from, size_t bytes, const void* at) const;
  void commit(uint32_t thread);
  // Waits for all but the thread's last `prior` groups.
  void wait(uint32_t thread, uint32_t prior);
  // The block has ended: what nobody has waited for may have nothing left to read.
  void end();
  void clear();

 private:
  struct Copy {
    uint32_t group;  // how many the thread had committed before
    uintptr_t from;
    size_t bytes;
    const void* at;
  };
  struct Thread {
    Cell fence = 0;   // its own accesses before this are visible to copies
    Cell others = 0;  // … and everything in its block before this
    uint32_t committed = 0;
    std::vector<Copy> copies;  // by group, rising
  };

  Thread& of(uint32_t thread);
  void look_for_writes(uint32_t thread, const Copy& copy) const;
  bool is_fenced(Cell write, const Thread& reader) const;

  std::vector<Thread> threads_;  // empty where the block has no such copy
};

}  // namespace opbridge_twin::checks

#endif  // OPBRIDGE_TWIN_CHECKS_BULK_COPIES_H

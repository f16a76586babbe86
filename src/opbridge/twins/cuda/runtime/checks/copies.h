// Copies and fills as work of a stream: their accesses are compared with the work of other streams, and recorded.
#ifndef OPBRIDGE_TWIN_CHECKS_COPIES_H
#define OPBRIDGE_TWIN_CHECKS_COPIES_H

#include <stddef.h>
#include <stdint.h>

#include "streams.h"

namespace opbridge_twin::checks {

struct Copy {
  uintptr_t address;
  size_t bytes;
  bool writes;
  const char* how;
  const void* made_at;
};

void report_races_of_copy(const Copy& copy, const Concurrent& beside);
void leave_cells_of_copy(const Copy& copy, const Concurrent& beside);

}  // namespace opbridge_twin::checks

#endif  // OPBRIDGE_TWIN_CHECKS_COPIES_H

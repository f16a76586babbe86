// Local arrays of device code that the checks watch; each thread's lie on its stack, the innermost first.
#ifndef OPBRIDGE_TWIN_CHECKS_LOCALS_H
#define OPBRIDGE_TWIN_CHECKS_LOCALS_H

#include <opbridge_twin/local.h>

#include "state.h"

namespace opbridge_twin::checks {

void local_access(uintptr_t address, size_t bytes, Access access, const void* at);

inline bool is_on_stack(uintptr_t address) { return address - worker.stack_begin < worker.stack_bytes; }

// An access to the running thread's own stack.
inline void stack_access(uintptr_t address, size_t bytes, Access access, const void* at) {
  if (worker.locals != nullptr && *worker.locals != nullptr) local_access(address, bytes, access, at);
}

}  // namespace opbridge_twin::checks

#endif  // OPBRIDGE_TWIN_CHECKS_LOCALS_H

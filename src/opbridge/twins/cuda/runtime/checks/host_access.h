// Accesses of host code: to device memory, or to shared memory that a kernel may still be using.
#ifndef OPBRIDGE_TWIN_CHECKS_HOST_ACCESS_H
#define OPBRIDGE_TWIN_CHECKS_HOST_ACCESS_H

#include "state.h"

namespace opbridge_twin::checks {

void host_code_access(uintptr_t address, size_t bytes, Access access, const void* at);

}  // namespace opbridge_twin::checks

#endif  // OPBRIDGE_TWIN_CHECKS_HOST_ACCESS_H

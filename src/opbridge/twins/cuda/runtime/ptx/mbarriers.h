// Arrive-wait barriers, for the copies that arrive at them.
#ifndef OPBRIDGE_TWIN_RUNTIME_PTX_MBARRIERS_H
#define OPBRIDGE_TWIN_RUNTIME_PTX_MBARRIERS_H

#include <opbridge_twin/mbarrier.h>

#include "ptx.h"

namespace opbridge_twin::ptx {

// Returns the state before.  Threads that find the phase complete see all earlier work of this thread.
mbarrier::State arrive(Machine& machine, char* barrier, uint64_t count);
void bytes_have_come(Machine& machine, char* barrier, uint64_t bytes);

}  // namespace opbridge_twin::ptx
#endif

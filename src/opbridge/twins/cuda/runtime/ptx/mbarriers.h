// Arrive-wait barriers, for the copies that arrive at them.
#ifndef OPBRIDGE_TWIN_RUNTIME_PTX_MBARRIERS_H
#define OPBRIDGE_TWIN_RUNTIME_PTX_MBARRIERS_H

#include <opbridge_twin/mbarrier.h>

#include "ptx.h"

namespace opbridge_twin::ptx {

// The state before; what the thread has done until now is there for whoever finds the phase complete.
mbarrier::State arrive(Machine& machine, char* barrier, uint64_t count);
void bytes_have_come(Machine& machine, char* barrier, uint64_t bytes);

}  // namespace opbridge_twin::ptx
#endif

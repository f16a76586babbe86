// What device code has from `malloc` and `new`: the process's own heap, which the checks leave alone there.
#ifndef OPBRIDGE_TWIN_CHECKS_HEAP_H
#define OPBRIDGE_TWIN_CHECKS_HEAP_H

#include <stdint.h>

#include "surroundings.h"

namespace opbridge_twin::checks {

// The piece that an address lies in; empty where it is none of device code's.
Range of_heap(uintptr_t address);

}  // namespace opbridge_twin::checks

#endif  // OPBRIDGE_TWIN_CHECKS_HEAP_H

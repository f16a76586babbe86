// The memory of devices, as the checks of kernels know it.
#ifndef OPBRIDGE_ASCEND_RUNTIME_DEVICE_H
#define OPBRIDGE_ASCEND_RUNTIME_DEVICE_H

#include "memory.h"

namespace opbridge_ascend {

// What an address in the window lies in; of no bytes for any other address.
Allocation device_allocation_of(const void* address);

}  // namespace opbridge_ascend
#endif

// Where hosts that start kernels themselves look for it.
#ifndef OPBRIDGE_ASCEND_PLATFORM_PLATFORM_ASCENDC_H
#define OPBRIDGE_ASCEND_PLATFORM_PLATFORM_ASCENDC_H

#include "opbridge_ascend/host/platform.h"

#endif

// Where the hosts of operators look for it.
#ifndef OPBRIDGE_ASCEND_TILING_PLATFORM_PLATFORM_ASCENDC_H
#define OPBRIDGE_ASCEND_TILING_PLATFORM_PLATFORM_ASCENDC_H

#include "opbridge_ascend/host/context.h"

#endif

// How hosts divide what the high-level functions compute.
#ifndef OPBRIDGE_ASCEND_TILING_API_H
#define OPBRIDGE_ASCEND_TILING_API_H

#include "opbridge_ascend/matmul_tiling.h"

#ifdef OPBRIDGE_ASCEND_OPERATOR_HOST
#include "opbridge_ascend/host/context.h"
#include "opbridge_ascend/host/function_tiling.h"
#endif

#endif

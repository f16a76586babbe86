// What the hosts of registered operators include for their tiling structs.
#ifndef OPBRIDGE_ASCEND_TILINGDATA_BASE_H
#define OPBRIDGE_ASCEND_TILINGDATA_BASE_H

#include "kernel_tiling/kernel_tiling.h"

// A kernel names its struct itself, or by REGISTER_TILING_DEFAULT: the twin looks for none by an operator's name.
#define REGISTER_TILING_DATA_CLASS(Operator, Name)

#endif

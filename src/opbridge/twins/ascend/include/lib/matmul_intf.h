// The high-level product of matrices, as kernels include it.
#ifndef OPBRIDGE_ASCEND_LIB_MATMUL_INTF_H
#define OPBRIDGE_ASCEND_LIB_MATMUL_INTF_H

#include "kernel_operator.h"
#include "opbridge_ascend/matmul.h"

// A core with a matrix unit has two with vector units, and a kernel that multiplies runs on each of these.
#ifndef ASCENDC_CUBE_ONLY
#undef OPBRIDGE_ASCEND_CORES
#define OPBRIDGE_ASCEND_CORES ::opbridge_ascend::Cores::mixed
#endif

#endif

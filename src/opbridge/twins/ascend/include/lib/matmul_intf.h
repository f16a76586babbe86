// The high-level product of matrices, as kernels include it.
#ifndef OPBRIDGE_ASCEND_LIB_MATMUL_INTF_H
#define OPBRIDGE_ASCEND_LIB_MATMUL_INTF_H

#include "kernel_operator.h"
#include "opbridge_ascend/matmul.h"

// Sources that define this run their kernels only on the core with the matrix unit.
#ifdef ASCENDC_CUBE_ONLY
#undef OPBRIDGE_ASCEND_CORES
#define OPBRIDGE_ASCEND_CORES ::opbridge_ascend::Cores::unsaid
#endif

#endif

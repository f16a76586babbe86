// Where some kernels look for it.
#ifndef OPBRIDGE_ASCEND_LIB_MATRIX_MATMUL_MATMUL_H
#define OPBRIDGE_ASCEND_LIB_MATRIX_MATMUL_MATMUL_H

#include "lib/matmul_intf.h"

#endif

// A part of kernel_operator.h that some kernels include in addition to it.
#ifndef OPBRIDGE_ASCEND_KERNEL_MACROS_H
#define OPBRIDGE_ASCEND_KERNEL_MACROS_H

#include "kernel_operator.h"

#endif

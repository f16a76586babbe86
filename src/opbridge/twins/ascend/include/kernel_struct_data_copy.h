// A part of the interface, which some kernels include beside the whole.
#ifndef OPBRIDGE_ASCEND_KERNEL_STRUCT_DATA_COPY_H
#define OPBRIDGE_ASCEND_KERNEL_STRUCT_DATA_COPY_H

#include "kernel_operator.h"

#endif

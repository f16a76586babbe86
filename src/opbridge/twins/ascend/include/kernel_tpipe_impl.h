// A part of the interface, which some kernels include beside the whole.
#ifndef OPBRIDGE_ASCEND_KERNEL_TPIPE_IMPL_H
#define OPBRIDGE_ASCEND_KERNEL_TPIPE_IMPL_H

#include "kernel_operator.h"

#endif

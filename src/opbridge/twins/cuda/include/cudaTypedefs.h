// Pointers to functions of the driver API, of which the twin has none.
#ifndef OPBRIDGE_TWIN_CUDA_TYPEDEFS_H
#define OPBRIDGE_TWIN_CUDA_TYPEDEFS_H

#include <cuda.h>

#endif

// CUDA as the `.cpp` of an extension see it, which nvcc has no part in: its words, and nothing that says it compiles.
#define OPBRIDGE_TWIN_HOST_SOURCE 1
#include <cuda_runtime.h>

#undef __CUDACC__
#undef __NVCC__
#define __shared__

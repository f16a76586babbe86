// Part of cuda_runtime.h, which has it all.
#include <cuda_runtime.h>

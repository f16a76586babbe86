// Stands before PyTorch's header of this name.
#ifndef OPBRIDGE_TWIN_ATEN_CUDA_EXCEPTIONS_H
#define OPBRIDGE_TWIN_ATEN_CUDA_EXCEPTIONS_H

#include <c10/cuda/CUDAException.h>

#define AT_CUDA_CHECK(EXPR) C10_CUDA_CHECK(EXPR)

#endif

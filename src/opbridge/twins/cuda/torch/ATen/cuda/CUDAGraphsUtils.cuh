// What kernels read of a generator's state; graphs are captured by CUDA's own functions.
#ifndef OPBRIDGE_TWIN_ATEN_CUDA_CUDAGRAPHSUTILS_H
#define OPBRIDGE_TWIN_ATEN_CUDA_CUDAGRAPHSUTILS_H

#include <ATen/cuda/CUDAGeneratorImpl.h>

#include <ATen/cuda/PhiloxUtils.cuh>

#endif

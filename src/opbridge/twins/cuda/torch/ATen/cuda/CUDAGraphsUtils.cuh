// What kernels read of a generator's state; graphs are captured by CUDA's own functions.
#pragma once

#include <ATen/cuda/CUDAGeneratorImpl.h>

#include <ATen/cuda/PhiloxUtils.cuh>

// Stands before PyTorch's header of this name.
#ifndef OPBRIDGE_TWIN_ATEN_CUDA_CONTEXT_H
#define OPBRIDGE_TWIN_ATEN_CUDA_CONTEXT_H

#include <ATen/core/ATenGeneral.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>

#endif

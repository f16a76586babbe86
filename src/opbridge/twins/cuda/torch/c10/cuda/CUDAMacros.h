// Stands before PyTorch's header of this name.
#ifndef OPBRIDGE_TWIN_C10_CUDA_MACROS_H
#define OPBRIDGE_TWIN_C10_CUDA_MACROS_H

#define C10_CUDA_API

#endif

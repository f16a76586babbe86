// Stands before PyTorch's header of this name.
#ifndef OPBRIDGE_TWIN_TORCH_STABLE_LIBRARY_H
#define OPBRIDGE_TWIN_TORCH_STABLE_LIBRARY_H

#ifndef OPBRIDGE_TWIN_CUDA_DEVICE
#error "opbridge: a source on PyTorch's stable ABI needs tensors on `cuda`: run the program by `opbridge twin run`"
#endif

#include_next <torch/csrc/stable/library.h>

#endif

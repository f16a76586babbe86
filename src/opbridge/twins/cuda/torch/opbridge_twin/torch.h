// PyTorch as a CUDA extension meets it in the twin: tensors of the CPU, which say that they are CUDA's.
//
// Included before CUDA's own words are defined, so that PyTorch's headers are those of its CPU build.  Words of a
// source that mean its device are the CPU's from here on.
#ifndef OPBRIDGE_TWIN_TORCH_H
#define OPBRIDGE_TWIN_TORCH_H

#include <torch/extension.h>

// PyTorch declares it for CUDA's compiler alone.
namespace torch::headeronly {
template <class T>
struct RestrictPtrTraits {
  typedef T* __restrict__ PtrType;
};
}  // namespace torch::headeronly
namespace at {
using torch::headeronly::RestrictPtrTraits;
}
namespace torch {
using at::RestrictPtrTraits;
}

#ifdef OPBRIDGE_TWIN_CHECKS
#include <opbridge_twin/torch_lent_memory.h>
#endif

#define is_cuda is_cpu
#define kCUDA kCPU
#define CUDA CPU

#endif

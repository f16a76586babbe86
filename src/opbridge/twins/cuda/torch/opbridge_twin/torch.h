// PyTorch as a CUDA extension meets it in the twin: where the process has a device `cuda`, as it is, and elsewhere with
// tensors of the CPU, which say that they are CUDA's.
//
// Included before CUDA's own words are defined, so that PyTorch's headers are those of its CPU build.
#ifndef OPBRIDGE_TWIN_TORCH_H
#define OPBRIDGE_TWIN_TORCH_H

// The implementation of the stable ABI does not use it, whatever the flags of an extension are.
#ifdef OPBRIDGE_TWIN_STABLE_SHIM
#undef TORCH_TARGET_VERSION
#undef TORCH_STABLE_ONLY
#undef Py_LIMITED_API
#endif

// A source for PyTorch's stable ABI alone may include nothing else of PyTorch's.
#if defined(TORCH_TARGET_VERSION) || defined(TORCH_STABLE_ONLY)
#define OPBRIDGE_TWIN_TORCH_STABLE 1
#include <torch/headeronly/core/TensorAccessor.h>
#elif defined(OPBRIDGE_TWIN_STABLE_SHIM)
// The few headers that it needs: all of them would take half a minute.
#include <ATen/core/Tensor.h>
#else
#include <torch/extension.h>
#endif

// PyTorch declares it for CUDA's compiler alone.
namespace torch::headeronly {
template <class T>
struct RestrictPtrTraits {
  typedef T* __restrict__ PtrType;
};
}  // namespace torch::headeronly
#ifndef OPBRIDGE_TWIN_TORCH_STABLE
namespace at {
using torch::headeronly::RestrictPtrTraits;
}
namespace torch {
using at::RestrictPtrTraits;
}
#endif

// PyTorch leaves them out for compilers of the host.
#ifndef C10_LAUNCH_BOUNDS_1
#define C10_LAUNCH_BOUNDS_0
#define C10_LAUNCH_BOUNDS_1(threads)
#define C10_LAUNCH_BOUNDS_2(threads, blocks)
#endif

#if !defined(OPBRIDGE_TWIN_CUDA_DEVICE) && !defined(OPBRIDGE_TWIN_TORCH_STABLE)
#ifdef OPBRIDGE_TWIN_CHECKS
#include <opbridge_twin/torch_lent_memory.h>
#endif

// Words of a source that mean its device are the CPU's from here on.
#define is_cuda is_cpu
#define kCUDA kCPU
#define CUDA CPU
#endif

#endif

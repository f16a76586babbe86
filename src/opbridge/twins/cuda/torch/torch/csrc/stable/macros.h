// Stands before PyTorch's header of this name, whose check of an error is a function of its build for GPUs.
#ifndef OPBRIDGE_TWIN_TORCH_STABLE_MACROS_H
#define OPBRIDGE_TWIN_TORCH_STABLE_MACROS_H

#include <opbridge_twin/error_text.h>
#include_next <torch/csrc/stable/macros.h>

#include <stdexcept>

#undef STD_CUDA_CHECK
#define STD_CUDA_CHECK(EXPR)                                                                                   \
  do {                                                                                                         \
    const cudaError_t ob_twin_error = (EXPR);                                                                  \
    if (ob_twin_error != cudaSuccess) throw std::runtime_error(opbridge_twin::take_error_text(ob_twin_error)); \
  } while (0)

#endif

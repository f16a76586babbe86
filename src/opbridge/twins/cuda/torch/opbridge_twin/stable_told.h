// Errors as functions of PyTorch's stable ABI tell them.
#ifndef OPBRIDGE_TWIN_STABLE_TOLD_H
#define OPBRIDGE_TWIN_STABLE_TOLD_H

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <cstdio>
#include <exception>

namespace opbridge_twin {

template <class Work>
AOTITorchError told(Work&& work) {
  try {
    work();
    return AOTI_TORCH_SUCCESS;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return AOTI_TORCH_FAILURE;
  }
}

}  // namespace opbridge_twin

#endif

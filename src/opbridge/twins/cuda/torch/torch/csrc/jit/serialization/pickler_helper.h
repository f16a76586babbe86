// Stands before PyTorch's header of this name, a part of torch/script.h, which asks storages for their data.
#ifndef OPBRIDGE_TWIN_TORCH_PICKLER_HELPER_H
#define OPBRIDGE_TWIN_TORCH_PICKLER_HELPER_H

// clang-format off
#include <opbridge_twin/words_away.h>
#include_next <torch/csrc/jit/serialization/pickler_helper.h>
#include <opbridge_twin/words_back.h>
// clang-format on

#endif

// Stands before PyTorch's header of this name, which says something else of CUDA than of the CPU.
#ifndef OPBRIDGE_TWIN_ATEN_ACCUMULATE_TYPE_H
#define OPBRIDGE_TWIN_ATEN_ACCUMULATE_TYPE_H

// clang-format off
#include <opbridge_twin/words_away.h>
#include_next <ATen/AccumulateType.h>
#include <opbridge_twin/words_back.h>
// clang-format on

#endif

// MindSpore's numbers for element types, as its custom operators are handed them (`TypeId`).
#ifndef OPBRIDGE_NATIVE_MINDSPORE_TYPES_H
#define OPBRIDGE_NATIVE_MINDSPORE_TYPES_H

#include <opbridge/abi.h>

namespace opbridge {

// Indexed by the codes of abi.h.
constexpr int kMindSporeTypes[OB_DTYPE_COUNT] = {30, 37, 32, 38, 33, 39, 34, 40, 35, 42, 45, 43, 44, 51, 52};

// -1 for a type that kernels do not take.
constexpr int32_t dtype_of_mindspore(int type) {
  for (int32_t code = 0; code < OB_DTYPE_COUNT; ++code)
    if (kMindSporeTypes[code] == type) return code;
  return -1;
}

}  // namespace opbridge

#endif

// What the hosts of operators ask for the high-level functions: the twin's need no memory of their own.
#ifndef OPBRIDGE_ASCEND_HOST_FUNCTION_TILING_H
#define OPBRIDGE_ASCEND_HOST_FUNCTION_TILING_H

#include <kernel_tiling/kernel_tiling.h>

#include "graph.h"
#include "platform.h"

namespace AscendC {

inline void GetUnPadMaxMinTmpSize(const platform_ascendc::PlatformAscendC&, const ge::Shape&, uint32_t,
                                  uint32_t& maxValue, uint32_t& minValue) {
  maxValue = minValue = 0;
}
inline void UnPadTilingFunc(const ge::Shape& srcShape, uint32_t, uint32_t, UnPadTiling& tiling) {
  tiling.srcHeight = static_cast<uint32_t>(srcShape.GetDim(0));
  tiling.srcWidth = static_cast<uint32_t>(srcShape.GetDim(1));
}

// The bytes of Sort's temporary tensor, which holds a value with its index for each element, and of Concat's.
inline uint32_t GetSortTmpSize(const platform_ascendc::PlatformAscendC&, uint32_t elemCount, uint32_t) {
  constexpr uint32_t kSorted = 8;
  return elemCount * kSorted;
}
inline uint32_t GetConcatTmpSize(const platform_ascendc::PlatformAscendC& platform, uint32_t elemCount,
                                 uint32_t dataTypeSize) {
  return GetSortTmpSize(platform, elemCount, dataTypeSize);
}

}  // namespace AscendC

namespace optiling {
using AscendC::UnPadTiling;
}
#endif

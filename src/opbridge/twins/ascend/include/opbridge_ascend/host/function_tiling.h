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

}  // namespace AscendC

namespace optiling {
using AscendC::UnPadTiling;
}
#endif

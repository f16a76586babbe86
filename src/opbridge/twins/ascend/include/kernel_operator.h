// Ascend C, for kernels that run on the CPU.
#ifndef OPBRIDGE_ASCEND_KERNEL_OPERATOR_H
#define OPBRIDGE_ASCEND_KERNEL_OPERATOR_H

#include "opbridge_ascend/cast.h"
#include "opbridge_ascend/compare.h"
#include "opbridge_ascend/copy.h"
#include "opbridge_ascend/cube.h"
#include "opbridge_ascend/dump.h"
#include "opbridge_ascend/fixpipe.h"
#include "opbridge_ascend/functions.h"
#include "opbridge_ascend/gather.h"
#include "opbridge_ascend/image.h"
#include "opbridge_ascend/launch.h"
#include "opbridge_ascend/normalize.h"
#include "opbridge_ascend/reduce.h"
#include "opbridge_ascend/refused.h"
#include "opbridge_ascend/rows.h"
#include "opbridge_ascend/scalar.h"
#include "opbridge_ascend/select.h"
#include "opbridge_ascend/shape.h"
#include "opbridge_ascend/softmax.h"
#include "opbridge_ascend/sort.h"
#include "opbridge_ascend/static_tensors.h"
#include "opbridge_ascend/sync.h"
#include "opbridge_ascend/tiling.h"
#include "opbridge_ascend/vector.h"

// What the headers of 2023 called it.  Kernels of that year add names of their own to the namespace.
namespace tik2 {
using namespace AscendC;
}

// The same headers' name for the beginning of a block's part.
template <class T>
GM_ADDR ParamOffset(GM_ADDR begin, uint64_t elements_per_block) {
  return begin + AscendC::GetBlockIdx() * elements_per_block * sizeof(T);
}

#endif

// What a host includes to run kernels on the CPU: memory for them, and their start.
#ifndef OPBRIDGE_ASCEND_TIKICPULIB_H
#define OPBRIDGE_ASCEND_TIKICPULIB_H

#include "kernel_operator.h"

enum class KernelMode { MIX_MODE, AIV_MODE, AIC_MODE };

namespace AscendC {

using ::KernelMode;
inline void SetKernelMode(KernelMode) {}
inline void* GmAlloc(size_t bytes) { return ob_ascend_allocate(bytes); }
inline void GmFree(void* memory) { ob_ascend_free(memory); }

}  // namespace AscendC

#define ICPU_SET_TILING_KEY(key) ob_ascend_set_tiling_key(key)
#define ICPU_RUN_KF(kernel, blocks, ...)                \
  ::opbridge_ascend::configured<OPBRIDGE_ASCEND_CORES>( \
      #kernel, [&](auto... arguments) { kernel(arguments...); }, static_cast<uint32_t>(blocks), 0, 0)(__VA_ARGS__)

#endif

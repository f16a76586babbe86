// A host in one process with its kernel, which it starts without a device.
#include <stdio.h>

#include "tikicpulib.h"

extern "C" __global__ __aicore__ void times(GM_ADDR x, GM_ADDR out, uint32_t n);

int main() {
  constexpr uint32_t n = 1024;
  auto* const x = static_cast<uint8_t*>(AscendC::GmAlloc(n * sizeof(half)));
  auto* const out = static_cast<uint8_t*>(AscendC::GmAlloc(n * sizeof(half)));
  for (uint32_t i = 0; i < n; ++i) reinterpret_cast<half*>(x)[i] = half(static_cast<float>(i % 100));
  AscendC::SetKernelMode(KernelMode::AIV_MODE);
  ICPU_RUN_KF(times, 1, x, out, n);
  uint32_t right = 0;
  for (uint32_t i = 0; i < n; ++i)
    right += float(reinterpret_cast<half*>(out)[i]) == 2.0f * static_cast<float>(i % 100);
  printf("%u of %u are right\n", right, n);
  AscendC::GmFree(x);
  AscendC::GmFree(out);
}

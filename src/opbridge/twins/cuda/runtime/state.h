// What the runtime API remembers: errors of the calling thread, and the one that ended the device.
#ifndef OPBRIDGE_TWIN_RUNTIME_STATE_H
#define OPBRIDGE_TWIN_RUNTIME_STATE_H

#include <cuda_runtime_api.h>

namespace opbridge_twin {

// Notes an error for cudaGetLastError, and gives it back.
cudaError_t noted(cudaError_t error);

// After a kernel has failed, every call answers with its error until the device is reset.
void poison(cudaError_t error);
cudaError_t poisoned();

// The launches of this thread whose errors nobody has asked for.
void launch_failed(cudaError_t error, const char* kernel, const void* made_at);
void report_unchecked_launch();

}  // namespace opbridge_twin

// At the start of every API function that uses the device.
#define OB_TWIN_REQUIRE_DEVICE() \
  if (const cudaError_t poison = opbridge_twin::poisoned()) return opbridge_twin::noted(poison)

#endif

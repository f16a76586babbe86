// What the runtime API remembers: errors of the calling thread, and the one that ended the device.
#ifndef OPBRIDGE_TWIN_RUNTIME_CUDART_STATE_H
#define OPBRIDGE_TWIN_RUNTIME_CUDART_STATE_H

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

// What cudaGetLastError will say to this thread.
struct LastError {
  cudaError_t error;
  // The launch it is from, as long as nobody has asked.
  const char* kernel;
  const void* made_at;
};
extern thread_local LastError last;

// While a function of the driver API is at work by those of the runtime API, it is what a program has called.
struct Caller {
  const char* name;
  const void* where;
};
extern thread_local Caller driver_caller;
inline const char* called_as(const char* name) { return driver_caller.name != nullptr ? driver_caller.name : name; }
inline const void* called_from(const void* where) {
  return driver_caller.name != nullptr ? driver_caller.where : where;
}

// Records that the runtime API is used, which creates a context.
void runtime_is_used();
bool is_runtime_used();

}  // namespace opbridge_twin

// The place that a report names, in a function of the API: a macro, because a function would return its own caller.
#define OB_TWIN_HERE opbridge_twin::called_from(__builtin_return_address(0))

// At the start of every API function that uses the device.
#define OB_TWIN_REQUIRE_DEVICE()    \
  opbridge_twin::runtime_is_used(); \
  if (const cudaError_t poison = opbridge_twin::poisoned()) return opbridge_twin::noted(poison)

#endif

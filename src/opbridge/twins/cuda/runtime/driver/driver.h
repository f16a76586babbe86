// What the functions of the driver API have in common: they are calls of the runtime API.
#ifndef OPBRIDGE_TWIN_RUNTIME_DRIVER_DRIVER_H
#define OPBRIDGE_TWIN_RUNTIME_DRIVER_DRIVER_H

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <utility>

#include "cudart/state.h"

namespace opbridge_twin {

// Whether a program has asked for the driver API, or for the runtime API, which initializes it too.
bool is_initialized();
inline bool is_device(CUdevice device) { return device == 0; }

// Why the calling thread may not use the device: the API is not initialized, or no context is current.
CUresult objection_to_call();

// For reports, which name what the program has called; its errors are none of the runtime API's.
class DriverCall {
 public:
  DriverCall(const char* name, const void* where)
      : before_(std::exchange(driver_caller, {name, where})), error_before_(std::exchange(last, {})) {}
  ~DriverCall() {
    driver_caller = before_;
    last = error_before_;
    if (last.error == cudaSuccess) last.error = poisoned();
  }
  DriverCall(const DriverCall&) = delete;
  DriverCall& operator=(const DriverCall&) = delete;

 private:
  const Caller before_;
  const LastError error_before_;
};

// The runtime's error by the driver's number.
CUresult result_of(cudaError_t error);

inline void* pointer(CUdeviceptr memory) { return reinterpret_cast<void*>(memory); }
inline void** pointer_to(CUdeviceptr* memory) { return reinterpret_cast<void**>(memory); }

}  // namespace opbridge_twin

// At the start of a function that needs a context.
#define OB_TWIN_DRIVER_CALL()                                                                     \
  if (const CUresult objection = opbridge_twin::objection_to_call(); objection != CUDA_SUCCESS) { \
    return objection;                                                                             \
  }                                                                                               \
  const opbridge_twin::DriverCall driver_call(static_cast<const char*>(__func__), __builtin_return_address(0))

// The whole of one that is a call of the runtime API.
#define OB_TWIN_DRIVER_IS(...) \
  OB_TWIN_DRIVER_CALL();       \
  return opbridge_twin::result_of(__VA_ARGS__)

// At the start of a function that needs a device and no context; `pointer` is where its result goes.
#define OB_TWIN_DRIVER_DEVICE(device, pointer)                             \
  if (!opbridge_twin::is_initialized()) return CUDA_ERROR_NOT_INITIALIZED; \
  if ((pointer) == nullptr) return CUDA_ERROR_INVALID_VALUE;               \
  if (!opbridge_twin::is_device(device)) return CUDA_ERROR_INVALID_DEVICE; \
  const opbridge_twin::DriverCall driver_call(static_cast<const char*>(__func__), __builtin_return_address(0))

#endif

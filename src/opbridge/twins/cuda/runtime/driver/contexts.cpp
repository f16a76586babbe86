// The driver API's contexts, results and entry points.  All contexts share the memory of the one device.
#include <dlfcn.h>
#include <string.h>

#include <atomic>
#include <mutex>
#include <set>
#include <vector>

#include "driver.h"

struct CUctx_st {
  unsigned flags;
};

namespace opbridge_twin {

namespace {

std::atomic<bool> initialized{false};

// Contexts that exist.
struct Contexts {
  std::mutex guard;
  std::set<CUcontext> live;
  CUctx_st primary{0};
  unsigned primary_users = 0;
};
Contexts& contexts() {
  static Contexts* const one = new Contexts;
  return *one;
}
thread_local std::vector<CUcontext> current;

bool is_live(CUcontext context) {
  Contexts& all = contexts();
  const std::lock_guard<std::mutex> hold(all.guard);
  return context == &all.primary || all.live.count(context) > 0;
}

// What the runtime API uses is the primary one.
CUcontext current_context() {
  if (!current.empty()) return current.back();
  return is_runtime_used() ? &contexts().primary : nullptr;
}

// What a program may ask about a result.
constexpr struct {
  CUresult result;
  const char* name;
  const char* text;
} kResults[] = {
#define OB_TWIN_RESULT(name, number, text) {name, #name, text},
    OB_TWIN_DRIVER_RESULTS(OB_TWIN_RESULT)
#undef OB_TWIN_RESULT
};

CUresult say(CUresult result, const char** to, bool name) {
  if (to == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *to = nullptr;
  for (const auto& known : kResults) {
    if (known.result == result) *to = name ? known.name : known.text;
  }
  return *to != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Returns the function of this library with a name.
void* function_called(const char* name) {
  Dl_info here;
  dladdr(reinterpret_cast<const void*>(&cuInit), &here);
  void* const library = dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  void* const found = dlsym(library, name);
  dlclose(library);
  return found;
}

}  // namespace

bool is_initialized() { return initialized || is_runtime_used(); }

CUresult objection_to_call() {
  if (!is_initialized()) return CUDA_ERROR_NOT_INITIALIZED;
  const CUcontext context = current_context();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return is_live(context) ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult result_of(cudaError_t error) {
  if (error == cudaSuccess) return CUDA_SUCCESS;
  // The numbers are the same where both name an error.
  if (error == cudaErrorInvalidDeviceFunction) return CUDA_ERROR_INVALID_HANDLE;
  const bool is_runtime_s = error > cudaErrorProfilerDisabled && error < cudaErrorNoDevice;
  return is_runtime_s ? CUDA_ERROR_INVALID_VALUE : static_cast<CUresult>(error);
}

}  // namespace opbridge_twin

using namespace opbridge_twin;

CUresult cuGetErrorName(CUresult error, const char** name) { return say(error, name, true); }
CUresult cuGetErrorString(CUresult error, const char** text) { return say(error, text, false); }

CUresult cuInit(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  initialized = true;
  return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}
CUresult cuGetProcAddress(const char* name, void** function, int, cuuint64_t, CUdriverProcAddressQueryResult* found) {
  if (name == nullptr || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *function = strncmp(name, "cu", 2) == 0 ? function_called(name) : nullptr;
  const bool is_there = *function != nullptr;
  if (found != nullptr) *found = is_there ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return is_there ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* found) {
  CUdriverProcAddressQueryResult result = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (cuGetProcAddress(name, function, CUDA_VERSION, flags, &result) == CUDA_ERROR_INVALID_VALUE) {
    return noted(cudaErrorInvalidValue);
  }
  if (found != nullptr) *found = static_cast<cudaDriverEntryPointQueryResult>(result);
  return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned, unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* found) {
  return cudaGetDriverEntryPoint(name, function, flags, found);
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  OB_TWIN_DRIVER_DEVICE(device, context);
  const std::lock_guard<std::mutex> hold(contexts().guard);
  ++contexts().primary_users;
  *context = &contexts().primary;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  OB_TWIN_DRIVER_DEVICE(device, &contexts());
  const std::lock_guard<std::mutex> hold(contexts().guard);
  if (contexts().primary_users == 0) return CUDA_ERROR_INVALID_CONTEXT;
  --contexts().primary_users;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  OB_TWIN_DRIVER_DEVICE(device, &contexts());
  return result_of(cudaDeviceReset());
}
CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
  OB_TWIN_DRIVER_DEVICE(device, &contexts());
  contexts().primary.flags = flags;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  OB_TWIN_DRIVER_DEVICE(device, flags);
  if (active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = contexts().primary.flags;
  *active = contexts().primary_users > 0 || is_runtime_used() ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuCtxCreate(CUcontext* context, unsigned flags, CUdevice device) {
  OB_TWIN_DRIVER_DEVICE(device, context);
  const std::lock_guard<std::mutex> hold(contexts().guard);
  *context = *contexts().live.insert(new CUctx_st{flags}).first;
  current.push_back(*context);
  return CUDA_SUCCESS;
}
CUresult cuCtxDestroy(CUcontext context) {
  const std::lock_guard<std::mutex> hold(contexts().guard);
  if (contexts().live.erase(context) == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (!current.empty() && current.back() == context) current.pop_back();
  delete context;
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent(CUcontext context) {
  if (!is_live(context)) return CUDA_ERROR_INVALID_CONTEXT;
  current.push_back(context);
  return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent(CUcontext* context) {
  if (current.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (context != nullptr) *context = current.back();
  current.pop_back();
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  if (context != nullptr && !is_live(context)) return CUDA_ERROR_INVALID_CONTEXT;
  if (!current.empty()) current.pop_back();
  if (context != nullptr) current.push_back(context);
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  OB_TWIN_DRIVER_DEVICE(0, context);
  *context = current_context();
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* device) {
  OB_TWIN_DRIVER_CALL();
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = 0;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetFlags(unsigned* flags) {
  OB_TWIN_DRIVER_CALL();
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = current_context()->flags;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetApiVersion(CUcontext context, unsigned* version) {
  OB_TWIN_DRIVER_DEVICE(0, version);
  if (context != nullptr && !is_live(context)) return CUDA_ERROR_INVALID_CONTEXT;
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize() { OB_TWIN_DRIVER_IS(cudaDeviceSynchronize()); }
CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  OB_TWIN_DRIVER_IS(cudaDeviceSetLimit(static_cast<cudaLimit>(limit), value));
}
CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  OB_TWIN_DRIVER_IS(cudaDeviceGetLimit(value, static_cast<cudaLimit>(limit)));
}
CUresult cuCtxSetCacheConfig(CUfunc_cache) { OB_TWIN_DRIVER_IS(cudaSuccess); }
CUresult cuCtxSetSharedMemConfig(CUsharedconfig) { OB_TWIN_DRIVER_IS(cudaSuccess); }
CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  OB_TWIN_DRIVER_IS(cudaDeviceGetStreamPriorityRange(least, greatest));
}
CUresult cuCtxEnablePeerAccess(CUcontext, unsigned flags) { OB_TWIN_DRIVER_IS(cudaDeviceEnablePeerAccess(0, flags)); }
CUresult cuCtxDisablePeerAccess(CUcontext) { OB_TWIN_DRIVER_IS(cudaDeviceDisablePeerAccess(0)); }
CUresult cuProfilerStart() { OB_TWIN_DRIVER_IS(cudaSuccess); }
CUresult cuProfilerStop() { OB_TWIN_DRIVER_IS(cudaSuccess); }

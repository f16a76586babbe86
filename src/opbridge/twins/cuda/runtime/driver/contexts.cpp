// The driver API's devices, contexts and results.  There is one device, and all contexts share its memory.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <algorithm>
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

// Those that were made and are not destroyed.
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

// The runtime API initializes it too.
bool is_initialized() { return initialized || is_runtime_used(); }

// What the runtime API uses is the primary one.
CUcontext current_context() {
  if (!current.empty()) return current.back();
  return is_runtime_used() ? &contexts().primary : nullptr;
}

bool is_device(CUdevice device) { return device == 0; }

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

// Of this library.
void* function_called(const char* name) {
  Dl_info here;
  dladdr(reinterpret_cast<const void*>(&cuInit), &here);
  void* const library = dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  void* const found = dlsym(library, name);
  dlclose(library);
  return found;
}

// Limits that the runtime API has no attribute for; the rest of what it does not name is what the twin has not.
int limit_of(CUdevice_attribute attribute, const cudaDeviceProp& p) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH:
      return p.maxTexture1D;
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH:
      return p.maxTexture2D[0];
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT:
      return p.maxTexture2D[1];
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH:
      return p.maxTexture3D[0];
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT:
      return p.maxTexture3D[1];
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH:
      return p.maxTexture3D[2];
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH:
      return p.maxTexture1DLayered[0];
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS:
      return p.maxTexture1DLayered[1];
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH:
      return p.maxTexture2DLayered[0];
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT:
      return p.maxTexture2DLayered[1];
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS:
      return p.maxTexture2DLayered[2];
    case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH:
      return p.maxTexture1DLinear;
    case CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT:
      return static_cast<int>(p.surfaceAlignment);
    case CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT:
      return static_cast<int>(p.texturePitchAlignment);
    case CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO:
      return p.singleToDoublePrecisionPerfRatio;
    case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
      return p.hostRegisterSupported;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED:
      return 1;
    case CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE:
      return p.persistingL2CacheMaxSize;
    case CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE:
      return p.accessPolicyMaxWindowSize;
    default:
      return 0;
  }
}

}  // namespace

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

#define REQUIRE_DEVICE(device, pointer)                      \
  if (!is_initialized()) return CUDA_ERROR_NOT_INITIALIZED;  \
  if ((pointer) == nullptr) return CUDA_ERROR_INVALID_VALUE; \
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;  \
  const DriverCall driver_call(static_cast<const char*>(__func__), __builtin_return_address(0))

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  REQUIRE_DEVICE(ordinal, device);
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  REQUIRE_DEVICE(0, count);
  *count = 1;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
  REQUIRE_DEVICE(device, name);
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, device);
  snprintf(name, static_cast<size_t>(std::max(bytes, 0)), "%s", p.name);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  REQUIRE_DEVICE(device, uuid);
  memcpy(uuid->bytes, "opbridge's twin", sizeof uuid->bytes);
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  REQUIRE_DEVICE(device, bytes);
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, device);
  *bytes = p.totalGlobalMem;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  REQUIRE_DEVICE(device, value);
  if (attribute < CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK) return CUDA_ERROR_INVALID_VALUE;
  // One numbering serves both.
  if (result_of(cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(attribute), device)) == CUDA_SUCCESS) {
    return CUDA_SUCCESS;
  }
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, device);
  *value = limit_of(attribute, p);
  return CUDA_SUCCESS;
}
CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  REQUIRE_DEVICE(device, major);
  cudaDeviceGetAttribute(major, cudaDevAttrComputeCapabilityMajor, device);
  return result_of(cudaDeviceGetAttribute(minor, cudaDevAttrComputeCapabilityMinor, device));
}
CUresult cuDeviceGetPCIBusId(char* id, int bytes, CUdevice device) {
  REQUIRE_DEVICE(device, id);
  snprintf(id, static_cast<size_t>(std::max(bytes, 0)), "0000:00:00.0");
  return CUDA_SUCCESS;
}
CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  REQUIRE_DEVICE(device, can);
  return result_of(cudaDeviceCanAccessPeer(can, device, peer));
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  REQUIRE_DEVICE(device, context);
  const std::lock_guard<std::mutex> hold(contexts().guard);
  ++contexts().primary_users;
  *context = &contexts().primary;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  REQUIRE_DEVICE(device, &contexts());
  const std::lock_guard<std::mutex> hold(contexts().guard);
  if (contexts().primary_users == 0) return CUDA_ERROR_INVALID_CONTEXT;
  --contexts().primary_users;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  REQUIRE_DEVICE(device, &contexts());
  return result_of(cudaDeviceReset());
}
CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
  REQUIRE_DEVICE(device, &contexts());
  contexts().primary.flags = flags;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  REQUIRE_DEVICE(device, flags);
  if (active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = contexts().primary.flags;
  *active = contexts().primary_users > 0 || is_runtime_used() ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuCtxCreate(CUcontext* context, unsigned flags, CUdevice device) {
  REQUIRE_DEVICE(device, context);
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
  REQUIRE_DEVICE(0, context);
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
  REQUIRE_DEVICE(0, version);
  if (context != nullptr && !is_live(context)) return CUDA_ERROR_INVALID_CONTEXT;
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize() OB_TWIN_DRIVER_IS(cudaDeviceSynchronize()) CUresult
    cuCtxSetLimit(CUlimit limit, size_t value)
        OB_TWIN_DRIVER_IS(cudaDeviceSetLimit(static_cast<cudaLimit>(limit), value)) CUresult
    cuCtxGetLimit(size_t* value, CUlimit limit)
        OB_TWIN_DRIVER_IS(cudaDeviceGetLimit(value, static_cast<cudaLimit>(limit))) CUresult
    cuCtxSetCacheConfig(CUfunc_cache) OB_TWIN_DRIVER_IS(cudaSuccess) CUresult cuCtxSetSharedMemConfig(CUsharedconfig)
        OB_TWIN_DRIVER_IS(cudaSuccess) CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest)
            OB_TWIN_DRIVER_IS(cudaDeviceGetStreamPriorityRange(least, greatest)) CUresult
    cuCtxEnablePeerAccess(CUcontext, unsigned flags) OB_TWIN_DRIVER_IS(cudaDeviceEnablePeerAccess(0, flags)) CUresult
    cuCtxDisablePeerAccess(CUcontext) OB_TWIN_DRIVER_IS(cudaDeviceDisablePeerAccess(0)) CUresult cuProfilerStart()
        OB_TWIN_DRIVER_IS(cudaSuccess) CUresult cuProfilerStop() OB_TWIN_DRIVER_IS(cudaSuccess)

// The driver API's devices, of which there is one.
#include <stdio.h>
#include <string.h>

#include <algorithm>

#include "driver.h"

using namespace opbridge_twin;

namespace {

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

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  OB_TWIN_DRIVER_DEVICE(ordinal, device);
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  OB_TWIN_DRIVER_DEVICE(0, count);
  *count = 1;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
  OB_TWIN_DRIVER_DEVICE(device, name);
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, device);
  snprintf(name, static_cast<size_t>(std::max(bytes, 0)), "%s", p.name);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  OB_TWIN_DRIVER_DEVICE(device, uuid);
  memcpy(uuid->bytes, "opbridge's twin", sizeof uuid->bytes);
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  OB_TWIN_DRIVER_DEVICE(device, bytes);
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, device);
  *bytes = p.totalGlobalMem;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  OB_TWIN_DRIVER_DEVICE(device, value);
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
  OB_TWIN_DRIVER_DEVICE(device, major);
  cudaDeviceGetAttribute(major, cudaDevAttrComputeCapabilityMajor, device);
  return result_of(cudaDeviceGetAttribute(minor, cudaDevAttrComputeCapabilityMinor, device));
}
CUresult cuDeviceGetPCIBusId(char* id, int bytes, CUdevice device) {
  OB_TWIN_DRIVER_DEVICE(device, id);
  snprintf(id, static_cast<size_t>(std::max(bytes, 0)), "0000:00:00.0");
  return CUDA_SUCCESS;
}
CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  OB_TWIN_DRIVER_DEVICE(device, can);
  return result_of(cudaDeviceCanAccessPeer(can, device, peer));
}

// The properties of the device, all at once or one by one.
#include <stdio.h>
#include <string.h>

#include <string>

#include "device.h"
#include "engine/judge_functions.h"
#include "memory.h"
#include "state.h"

using namespace opbridge_twin;

namespace {

constexpr int kRegisters = 65536;
constexpr int kClockKilohertz = 1000000;

std::string& device_name() {
  static auto& one = *new std::string("opbridge CUDA twin");
  return one;
}

// Sets the limits of the architecture; arrays of the twin are limited only by memory.
void say_most_texels(cudaDeviceProp& p) {
  constexpr int kLine = 131072, kPlane = 65536, kBox = 16384, kLayered = 32768, kLayers = 2048, kLinear = 1 << 28;
  p.maxTexture1D = p.maxSurface1D = kLine;
  p.maxTexture1DLinear = kLinear;
  p.maxTexture2D[0] = p.maxTexture2DLinear[0] = p.maxSurface2D[0] = kLine;
  p.maxTexture2D[1] = p.maxTexture2DLinear[1] = p.maxSurface2D[1] = kPlane;
  p.maxTexture2DLinear[2] = 2097120;
  for (int i = 0; i < 3; ++i) p.maxTexture3D[i] = p.maxSurface3D[i] = kBox;
  p.maxTexture1DLayered[0] = p.maxTexture2DLayered[0] = p.maxTexture2DLayered[1] = kLayered;
  p.maxTexture1DLayered[1] = p.maxTexture2DLayered[2] = kLayers;
}

}  // namespace

void opbridge_twin::name_device(const char* name) { device_name() = name; }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  if (p == nullptr) return noted(cudaErrorInvalidValue);
  if (device != 0) return noted(cudaErrorInvalidDevice);
  memset(p, 0, sizeof *p);
  snprintf(p->name, sizeof p->name, "%s", device_name().c_str());
  p->totalGlobalMem = total_memory();
  p->sharedMemPerBlock = kStaticSharedBytes;
  p->regsPerBlock = p->regsPerMultiprocessor = kRegisters;
  p->warpSize = kWarpSize;
  p->memPitch = 0x7fffffff;
  p->maxThreadsPerBlock = kMostThreads;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = kMostThreads;
  p->maxThreadsDim[2] = kMostBlockZ;
  p->maxGridSize[0] = kMostGridX;
  p->maxGridSize[1] = p->maxGridSize[2] = kMostGridYZ;
  p->clockRate = p->memoryClockRate = kClockKilohertz;
  p->totalConstMem = 65536;
  p->major = kComputeMajor;
  p->minor = kComputeMinor;
  p->textureAlignment = p->surfaceAlignment = 512;
  p->multiProcessorCount = kMultiprocessors;
  p->canMapHostMemory = p->concurrentKernels = p->unifiedAddressing = p->managedMemory = 1;
  p->asyncEngineCount = 1;
  p->memoryBusWidth = 64;
  p->l2CacheSize = 4 << 20;
  p->persistingL2CacheMaxSize = p->accessPolicyMaxWindowSize = 3 << 20;
  p->maxThreadsPerMultiProcessor = kThreadsPerMultiprocessor;
  p->streamPrioritiesSupported = p->globalL1CacheSupported = p->localL1CacheSupported = 1;
  p->sharedMemPerMultiprocessor = kSharedPerMultiprocessor;
  p->hostNativeAtomicSupported = p->concurrentManagedAccess = p->cooperativeLaunch = p->memoryPoolsSupported = 1;
  p->sharedMemPerBlockOptin = kMostSharedBytes;
  p->maxBlocksPerMultiProcessor = kBlocksPerMultiprocessor;
  p->reservedSharedMemPerBlock = kSharedReserved;
  p->deviceOverlap = p->hostRegisterSupported = 1;
  p->singleToDoublePrecisionPerfRatio = 2;
  p->texturePitchAlignment = 32;
  say_most_texels(*p);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (value == nullptr) return noted(cudaErrorInvalidValue);
  cudaDeviceProp p;
  if (const cudaError_t error = cudaGetDeviceProperties(&p, device)) return error;
  const auto give = [value](auto number) {
    *value = static_cast<int>(number);
    return cudaSuccess;
  };
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      return give(p.maxThreadsPerBlock);
    case cudaDevAttrMaxBlockDimX:
      return give(p.maxThreadsDim[0]);
    case cudaDevAttrMaxBlockDimY:
      return give(p.maxThreadsDim[1]);
    case cudaDevAttrMaxBlockDimZ:
      return give(p.maxThreadsDim[2]);
    case cudaDevAttrMaxGridDimX:
      return give(p.maxGridSize[0]);
    case cudaDevAttrMaxGridDimY:
      return give(p.maxGridSize[1]);
    case cudaDevAttrMaxGridDimZ:
      return give(p.maxGridSize[2]);
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return give(p.sharedMemPerBlock);
    case cudaDevAttrTotalConstantMemory:
      return give(p.totalConstMem);
    case cudaDevAttrWarpSize:
      return give(p.warpSize);
    case cudaDevAttrMaxPitch:
      return give(p.memPitch);
    case cudaDevAttrMaxRegistersPerBlock:
      return give(p.regsPerBlock);
    case cudaDevAttrClockRate:
      return give(p.clockRate);
    case cudaDevAttrTextureAlignment:
      return give(p.textureAlignment);
    case cudaDevAttrGpuOverlap:
      return give(p.asyncEngineCount > 0);
    case cudaDevAttrMultiProcessorCount:
      return give(p.multiProcessorCount);
    case cudaDevAttrKernelExecTimeout:
      return give(p.kernelExecTimeoutEnabled);
    case cudaDevAttrIntegrated:
      return give(p.integrated);
    case cudaDevAttrCanMapHostMemory:
      return give(p.canMapHostMemory);
    case cudaDevAttrComputeMode:
      return give(p.computeMode);
    case cudaDevAttrConcurrentKernels:
      return give(p.concurrentKernels);
    case cudaDevAttrEccEnabled:
      return give(p.ECCEnabled);
    case cudaDevAttrPciBusId:
      return give(p.pciBusID);
    case cudaDevAttrPciDeviceId:
      return give(p.pciDeviceID);
    case cudaDevAttrMemoryClockRate:
      return give(p.memoryClockRate);
    case cudaDevAttrGlobalMemoryBusWidth:
      return give(p.memoryBusWidth);
    case cudaDevAttrL2CacheSize:
      return give(p.l2CacheSize);
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return give(p.maxThreadsPerMultiProcessor);
    case cudaDevAttrAsyncEngineCount:
      return give(p.asyncEngineCount);
    case cudaDevAttrUnifiedAddressing:
      return give(p.unifiedAddressing);
    case cudaDevAttrComputeCapabilityMajor:
      return give(p.major);
    case cudaDevAttrComputeCapabilityMinor:
      return give(p.minor);
    case cudaDevAttrStreamPrioritiesSupported:
      return give(p.streamPrioritiesSupported);
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return give(p.sharedMemPerMultiprocessor);
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      return give(p.regsPerMultiprocessor);
    case cudaDevAttrManagedMemory:
      return give(p.managedMemory);
    case cudaDevAttrHostNativeAtomicSupported:
      return give(p.hostNativeAtomicSupported);
    case cudaDevAttrPageableMemoryAccess:
      return give(p.pageableMemoryAccess);
    case cudaDevAttrConcurrentManagedAccess:
      return give(p.concurrentManagedAccess);
    case cudaDevAttrCooperativeLaunch:
      return give(p.cooperativeLaunch);
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return give(p.sharedMemPerBlockOptin);
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      return give(p.maxBlocksPerMultiProcessor);
    case cudaDevAttrReservedSharedMemoryPerBlock:
      return give(p.reservedSharedMemPerBlock);
    case cudaDevAttrMemoryPoolsSupported:
      return give(p.memoryPoolsSupported);
  }
  return noted(cudaErrorInvalidValue);
}

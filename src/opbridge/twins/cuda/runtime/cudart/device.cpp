#include "device.h"

#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>

#include "checks/checks.h"
#include "memory.h"
#include "state.h"

namespace opbridge_twin {

namespace {

constexpr int kMajor = 8, kMinor = 0;
constexpr int kVersion = CUDART_VERSION;
constexpr int kRegisters = 65536;
constexpr int kRegistersOfThread = 32;  // what a kernel of no particular size takes
constexpr int kClockKilohertz = 1000000;
constexpr size_t kStackBytes = 1024;

// What hosts have set for functions and for the device.
struct Functions {
  std::mutex guard;
  std::map<const ob_twin_kernel*, size_t> dynamic_shared;
  size_t limits[7] = {kStackBytes, size_t{1} << 20, size_t{8} << 20, 2, 2048, 64, 0};  // by cudaLimit
};
Functions& functions() {
  static Functions* const one = new Functions;  // kernels may still be launched while the process ends
  return *one;
}

thread_local int current_device = 0;

std::string& device_name() {
  static auto& one = *new std::string("opbridge CUDA twin");
  return one;
}

}  // namespace

size_t dynamic_shared_limit(const ob_twin_kernel* kernel) {
  std::lock_guard<std::mutex> hold(functions().guard);
  const auto found = functions().dynamic_shared.find(kernel);
  return found == functions().dynamic_shared.end() ? kStaticSharedBytes : found->second;
}

unsigned blocks_per_multiprocessor(unsigned threads, size_t shared_bytes) {
  if (threads == 0 || threads > kMostThreads) return 0;
  const unsigned whole_warps = (threads + kWarpSize - 1) / kWarpSize * kWarpSize;
  const size_t by_shared = kSharedPerMultiprocessor / (shared_bytes + kSharedReserved);
  return static_cast<unsigned>(
      std::min<size_t>({kBlocksPerMultiprocessor, kThreadsPerMultiprocessor / whole_warps, by_shared}));
}

}  // namespace opbridge_twin

using namespace opbridge_twin;

cudaError_t cudaGetDeviceCount(int* count) {
  if (count == nullptr) return noted(cudaErrorInvalidValue);
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  if (device == nullptr) return noted(cudaErrorInvalidValue);
  *device = current_device;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (device != 0) return noted(cudaErrorInvalidDevice);
  OB_TWIN_REQUIRE_DEVICE();
  return cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }

namespace {

// Those of the architecture; the twin's own arrays end where memory does.
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

// Gives the device another name, by which programs cannot tell it from the GPU that it stands for.
extern "C" void ob_twin_name_device(const char* name) { device_name() = name; }

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
  p->major = kMajor;
  p->minor = kMinor;
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

cudaError_t cudaDeviceSynchronize() {
  report_unchecked_launch();
  OB_TWIN_REQUIRE_DEVICE();
  checks::host_waits_for_all();
  return cudaSuccess;
}

cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }

cudaError_t cudaDeviceReset() {
  free_everything();
  ob_twin_clear_errors();
  return cudaSuccess;
}

cudaError_t cudaThreadExit() { return cudaDeviceReset(); }

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  if (limit > cudaLimitPersistingL2CacheSize) return noted(cudaErrorInvalidValue);
  functions().limits[limit] = value;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  if (value == nullptr || limit > cudaLimitPersistingL2CacheSize) return noted(cudaErrorInvalidValue);
  *value = functions().limits[limit];
  return cudaSuccess;
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (can == nullptr) return noted(cudaErrorInvalidValue);
  if (device != 0 || peer != 0) return noted(cudaErrorInvalidDevice);
  *can = 0;
  return cudaSuccess;
}

// There is one device, and none is its own peer.
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return noted(cudaErrorInvalidDevice); }
cudaError_t cudaDeviceDisablePeerAccess(int) { return noted(cudaErrorInvalidDevice); }
cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr, int, int) {
  return noted(value == nullptr ? cudaErrorInvalidValue : cudaErrorInvalidDevice);
}

cudaError_t cudaCtxResetPersistingL2Cache() { return cudaSuccess; }

cudaError_t cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) return noted(cudaErrorInvalidValue);
  *version = kVersion;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }

cudaError_t ob_twin_function_set(const ob_twin_kernel* kernel, cudaFuncAttribute attribute, int value) {
  if (kernel == nullptr) return noted(cudaErrorInvalidDeviceFunction);
  if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) return cudaSuccess;
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return noted(cudaErrorInvalidValue);
  if (value < 0 || static_cast<size_t>(value) > kMostSharedBytes) return noted(cudaErrorInvalidValue);
  std::lock_guard<std::mutex> hold(functions().guard);
  functions().dynamic_shared[kernel] = static_cast<size_t>(value);
  return cudaSuccess;
}

cudaError_t ob_twin_function_get(cudaFuncAttributes* attributes, const ob_twin_kernel* kernel) {
  if (attributes == nullptr) return noted(cudaErrorInvalidValue);
  if (kernel == nullptr) return noted(cudaErrorInvalidDeviceFunction);
  *attributes = {};
  attributes->maxThreadsPerBlock = kMostThreads;
  attributes->numRegs = kRegistersOfThread;
  attributes->ptxVersion = attributes->binaryVersion = 10 * kMajor + kMinor;
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(dynamic_shared_limit(kernel));
  attributes->preferredShmemCarveout = -1;
  return cudaSuccess;
}

cudaError_t ob_twin_occupancy(int* blocks, const ob_twin_kernel* kernel, int block_threads, size_t shared_bytes) {
  if (blocks == nullptr || block_threads <= 0) return noted(cudaErrorInvalidValue);
  if (kernel == nullptr) return noted(cudaErrorInvalidDeviceFunction);
  *blocks = static_cast<int>(blocks_per_multiprocessor(static_cast<unsigned>(block_threads), shared_bytes));
  return cudaSuccess;
}

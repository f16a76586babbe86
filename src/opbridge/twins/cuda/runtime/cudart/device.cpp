#include "device.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "checks/checks.h"
#include "memory.h"
#include "state.h"

namespace opbridge_twin {

namespace {

constexpr int kVersion = CUDART_VERSION;
constexpr int kRegistersOfThread = 32;  // what a kernel of no particular size takes
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
  attributes->ptxVersion = attributes->binaryVersion = 10 * kComputeMajor + kComputeMinor;
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

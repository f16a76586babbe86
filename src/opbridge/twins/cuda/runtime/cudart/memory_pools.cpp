// Memory that is asked for in the order of a stream.  What is freed is gone at once, so that a pool is a name.
#include <cuda_runtime_api.h>

#include "state.h"

// How much of what is freed a program wants to be kept, which it may ask for again.
struct CUmemPoolHandle_st {
  unsigned long long threshold;
};

namespace opbridge_twin {

namespace {

CUmemPoolHandle_st& default_pool() {
  static auto& pool = *new CUmemPoolHandle_st{0};
  return pool;
}

bool is_flag(cudaMemPoolAttr attribute) {
  return attribute >= cudaMemPoolReuseFollowEventDependencies && attribute <= cudaMemPoolReuseAllowInternalDependencies;
}

}  // namespace

}  // namespace opbridge_twin

using namespace opbridge_twin;

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  if (pool == nullptr) return noted(cudaErrorInvalidValue);
  if (device != 0) return noted(cudaErrorInvalidDevice);
  *pool = &default_pool();
  return cudaSuccess;
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) { return cudaDeviceGetDefaultMemPool(pool, device); }
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  return device != 0 ? noted(cudaErrorInvalidDevice) : pool == nullptr ? noted(cudaErrorInvalidValue) : cudaSuccess;
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  if (pool == nullptr || properties == nullptr) return noted(cudaErrorInvalidValue);
  *pool = new CUmemPoolHandle_st{0};
  return cudaSuccess;
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  if (pool == nullptr || pool == &default_pool()) return noted(cudaErrorInvalidValue);
  delete pool;
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  if (pool == nullptr || value == nullptr) return noted(cudaErrorInvalidValue);
  if (attribute == cudaMemPoolAttrReleaseThreshold) pool->threshold = *static_cast<unsigned long long*>(value);
  return cudaSuccess;
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  if (pool == nullptr || value == nullptr) return noted(cudaErrorInvalidValue);
  if (is_flag(attribute)) {
    *static_cast<int*>(value) = 1;
    return cudaSuccess;
  }
  size_t available = 0, total = 0;
  if (const cudaError_t error = cudaMemGetInfo(&available, &total)) return error;
  *static_cast<unsigned long long*>(value) =
      attribute == cudaMemPoolAttrReleaseThreshold ? pool->threshold : total - available;
  return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) {
  return pool == nullptr ? noted(cudaErrorInvalidValue) : cudaSuccess;
}
// Its device may use what it gives anyway, and there is no other.
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* who, size_t count) {
  if (pool == nullptr || who == nullptr) return noted(cudaErrorInvalidValue);
  for (size_t i = 0; i < count; ++i) {
    if (who[i].location.type == cudaMemLocationTypeDevice && who[i].location.id != 0)
      return noted(cudaErrorInvalidDevice);
  }
  return cudaSuccess;
}
cudaError_t cudaMallocFromPoolAsync(void** memory, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  return pool == nullptr ? noted(cudaErrorInvalidValue) : cudaMallocAsync(memory, bytes, stream);
}

// Texture objects over linear memory.
#include <cuda_runtime_api.h>

#include "worker.h"

namespace opbridge_twin {

namespace {

struct Texture {
  cudaResourceDesc resource;
  cudaTextureDesc texture;
};

Texture* of(cudaTextureObject_t object) { return reinterpret_cast<Texture*>(object); }

}  // namespace

}  // namespace opbridge_twin

using opbridge_twin::of;
using opbridge_twin::Texture;

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* texture, const cudaResourceViewDesc* view) {
  if (object == nullptr || resource == nullptr || texture == nullptr) return cudaErrorInvalidValue;
  const bool is_plain = texture->readMode == cudaReadModeElementType && !texture->normalizedCoords && view == nullptr;
  if (resource->resType != cudaResourceTypeLinear || !is_plain) return cudaErrorNotSupported;
  *object = reinterpret_cast<cudaTextureObject_t>(new Texture{*resource, *texture});
  return cudaSuccess;
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object) {
  delete of(object);
  return cudaSuccess;
}

cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource, cudaTextureObject_t object) {
  if (resource == nullptr || object == 0) return cudaErrorInvalidValue;
  *resource = of(object)->resource;
  return cudaSuccess;
}

const void* ob_twin_texture_memory(cudaTextureObject_t object, size_t bytes) {
  const cudaChannelFormatDesc& format = of(object)->resource.res.linear.desc;
  if (static_cast<size_t>(format.x + format.y + format.z + format.w) != 8 * bytes) {
    ob_twin_trap(opbridge_twin::Worker::running()->thread(),
                 "a texture is fetched as another type than it was made of");
  }
  return of(object)->resource.res.linear.devPtr;
}

// Texture and surface objects: descriptions that are kept, of memory that is there already.
#include <cuda_runtime_api.h>

#include "arrays.h"
#include "state.h"

namespace opbridge_twin {

namespace {

// What an object was made of, and the same as device code looks at it.
struct Texels {
  cudaResourceDesc resource;
  ob_twin_texels view;
};

Texels* of(unsigned long long object) { return reinterpret_cast<Texels*>(object); }

int count(size_t size) { return size == 0 ? 1 : static_cast<int>(size); }

// Without memory where the twin has no such resource.
ob_twin_texels view_of(const cudaResourceDesc& resource, const cudaTextureDesc& how) {
  ob_twin_texels view{nullptr, 0, 0, 1, 1, 1, 0, {}, how};
  if (resource.resType == cudaResourceTypeLinear) {
    view.data = resource.res.linear.devPtr;
    view.format = resource.res.linear.desc;
    const size_t texel = texel_bytes(view.format);
    view.width = texel == 0 ? 0 : count(resource.res.linear.sizeInBytes / texel);
    view.pitch = view.slice = resource.res.linear.sizeInBytes;
  } else if (resource.resType == cudaResourceTypePitch2D) {
    const auto& rows = resource.res.pitch2D;
    view.data = rows.devPtr;
    view.format = rows.desc;
    view.width = count(rows.width);
    view.height = count(rows.height);
    view.pitch = rows.pitchInBytes;
    view.slice = view.pitch * rows.height;
  } else if (resource.resType == cudaResourceTypeArray && resource.res.array.array != nullptr) {
    const cudaArray& array = *resource.res.array.array;
    view.data = array.data;
    view.format = array.format;
    view.width = count(array.extent.width);
    view.height = count(array.extent.height);
    view.depth = count(array.extent.depth);
    view.layered = (array.flags & cudaArrayLayered) != 0;
    view.pitch = array.extent.width * texel_bytes(array.format);
    view.slice = view.pitch * static_cast<size_t>(view.height);
  }
  return view;
}

cudaError_t create(unsigned long long* object, const cudaResourceDesc& resource, const cudaTextureDesc& how) {
  const ob_twin_texels view = view_of(resource, how);
  if (view.data == nullptr) return noted(cudaErrorNotSupported);
  *object = reinterpret_cast<unsigned long long>(new Texels{resource, view});
  return cudaSuccess;
}

}  // namespace

}  // namespace opbridge_twin

using namespace opbridge_twin;

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* texture, const cudaResourceViewDesc* view) {
  if (object == nullptr || resource == nullptr || texture == nullptr) return noted(cudaErrorInvalidValue);
  if (view != nullptr || texture->sRGB != 0) return noted(cudaErrorNotSupported);
  const bool is_linear = texture->filterMode == cudaFilterModeLinear && texture->readMode == cudaReadModeElementType;
  const cudaError_t error = create(object, *resource, *texture);
  // Between whole numbers lies none.
  if (error == cudaSuccess && is_linear && of(*object)->view.format.f != cudaChannelFormatKindFloat) {
    cudaDestroyTextureObject(*object);
    return noted(cudaErrorInvalidFilterSetting);
  }
  return error;
}
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object) {
  delete of(object);
  return cudaSuccess;
}
cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource, cudaTextureObject_t object) {
  if (resource == nullptr || object == 0) return noted(cudaErrorInvalidValue);
  *resource = of(object)->resource;
  return cudaSuccess;
}
cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* texture, cudaTextureObject_t object) {
  if (texture == nullptr || object == 0) return noted(cudaErrorInvalidValue);
  *texture = of(object)->view.how;
  return cudaSuccess;
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* object, const cudaResourceDesc* resource) {
  if (object == nullptr || resource == nullptr) return noted(cudaErrorInvalidValue);
  const bool is_array = resource->resType == cudaResourceTypeArray && resource->res.array.array != nullptr;
  if (!is_array || (resource->res.array.array->flags & cudaArraySurfaceLoadStore) == 0) {
    return noted(cudaErrorInvalidValue);
  }
  return create(object, *resource, {});
}
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object) { return cudaDestroyTextureObject(object); }
cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc* resource, cudaSurfaceObject_t object) {
  return cudaGetTextureObjectResourceDesc(resource, object);
}

void ob_twin_texels_of(unsigned long long object, ob_twin_texels* to) { *to = of(object)->view; }

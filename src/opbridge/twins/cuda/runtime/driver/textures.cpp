// The driver API's arrays, textures and surfaces, in its words for what the runtime API has.
#include "driver.h"

namespace opbridge_twin {

namespace {

// Which bits and kinds a part of a texel has; 0 bits for a format that is none.
cudaChannelFormatDesc format_of(CUarray_format format, unsigned parts) {
  const bool is_float = format == CU_AD_FORMAT_FLOAT || format == CU_AD_FORMAT_HALF;
  const bool is_unsigned = format >= CU_AD_FORMAT_UNSIGNED_INT8 && format <= CU_AD_FORMAT_UNSIGNED_INT32;
  int bits = 0;
  if (format == CU_AD_FORMAT_UNSIGNED_INT8 || format == CU_AD_FORMAT_SIGNED_INT8) bits = 8;
  if (format == CU_AD_FORMAT_UNSIGNED_INT16 || format == CU_AD_FORMAT_SIGNED_INT16) bits = 16;
  if (format == CU_AD_FORMAT_UNSIGNED_INT32 || format == CU_AD_FORMAT_SIGNED_INT32) bits = 32;
  if (is_float) bits = format == CU_AD_FORMAT_FLOAT ? 32 : 16;
  const auto part = [=](unsigned i) { return i < parts ? bits : 0; };
  return {part(0), part(1), part(2), part(3),
          is_float      ? cudaChannelFormatKindFloat
          : is_unsigned ? cudaChannelFormatKindUnsigned
                        : cudaChannelFormatKindSigned};
}

cudaResourceDesc resource_of(const CUDA_RESOURCE_DESC& given) {
  cudaResourceDesc made{};
  made.resType = static_cast<cudaResourceType>(given.resType);
  if (given.resType == CU_RESOURCE_TYPE_ARRAY) made.res.array.array = given.res.array.hArray;
  if (given.resType == CU_RESOURCE_TYPE_LINEAR) {
    const auto& line = given.res.linear;
    made.res.linear = {pointer(line.devPtr), format_of(line.format, line.numChannels), line.sizeInBytes};
  }
  if (given.resType == CU_RESOURCE_TYPE_PITCH2D) {
    const auto& rows = given.res.pitch2D;
    made.res.pitch2D = {pointer(rows.devPtr), format_of(rows.format, rows.numChannels), rows.width, rows.height,
                        rows.pitchInBytes};
  }
  return made;
}

// Textures of these types return fractions, unless the program requests the integers.
bool becomes_fractions(const cudaResourceDesc& resource) {
  cudaChannelFormatDesc format{};
  if (resource.resType == cudaResourceTypeArray) cudaGetChannelDesc(&format, resource.res.array.array);
  if (resource.resType == cudaResourceTypeLinear) format = resource.res.linear.desc;
  if (resource.resType == cudaResourceTypePitch2D) format = resource.res.pitch2D.desc;
  return format.f != cudaChannelFormatKindFloat && format.x < 32;
}

cudaTextureDesc texture_of(const CUDA_TEXTURE_DESC& given, const cudaResourceDesc& resource) {
  cudaTextureDesc made{};
  for (int i = 0; i < 3; ++i) made.addressMode[i] = static_cast<cudaTextureAddressMode>(given.addressMode[i]);
  for (int i = 0; i < 4; ++i) made.borderColor[i] = given.borderColor[i];
  made.filterMode = static_cast<cudaTextureFilterMode>(given.filterMode);
  const bool as_numbers = (given.flags & CU_TRSF_READ_AS_INTEGER) != 0 || !becomes_fractions(resource);
  made.readMode = as_numbers ? cudaReadModeElementType : cudaReadModeNormalizedFloat;
  made.normalizedCoords = (given.flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
  made.sRGB = (given.flags & CU_TRSF_SRGB) != 0;
  return made;
}

cudaError_t create_texture(CUtexObject* object, const CUDA_RESOURCE_DESC& given, const CUDA_TEXTURE_DESC& how,
                           bool has_view) {
  if (has_view) return cudaErrorNotSupported;
  const cudaResourceDesc resource = resource_of(given);
  const cudaTextureDesc texture = texture_of(how, resource);
  return cudaCreateTextureObject(object, &resource, &texture, nullptr);
}
cudaError_t create_surface(CUsurfObject* object, const CUDA_RESOURCE_DESC& given) {
  const cudaResourceDesc resource = resource_of(given);
  return cudaCreateSurfaceObject(object, &resource);
}

cudaError_t create_array(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR& how) {
  const cudaChannelFormatDesc format = format_of(how.Format, how.NumChannels);
  // The runtime API's flags have the same numbers.
  return cudaMalloc3DArray(array, &format, {how.Width, how.Height, how.Depth}, how.Flags);
}

}  // namespace

}  // namespace opbridge_twin

using namespace opbridge_twin;

CUresult cuArrayCreate(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* how) {
  OB_TWIN_DRIVER_IS(how == nullptr
                        ? cudaErrorInvalidValue
                        : create_array(array, {how->Width, how->Height, 0, how->Format, how->NumChannels, 0}));
}
CUresult cuArray3DCreate(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* how) {
  OB_TWIN_DRIVER_IS(how == nullptr ? cudaErrorInvalidValue : create_array(array, *how));
}
CUresult cuArrayDestroy(CUarray array) { OB_TWIN_DRIVER_IS(cudaFreeArray(array)); }
CUresult cuTexObjectCreate(CUtexObject* object, const CUDA_RESOURCE_DESC* resource, const CUDA_TEXTURE_DESC* texture,
                           const CUDA_RESOURCE_VIEW_DESC* view) {
  OB_TWIN_DRIVER_IS(resource == nullptr || texture == nullptr
                        ? cudaErrorInvalidValue
                        : create_texture(object, *resource, *texture, view != nullptr));
}
CUresult cuTexObjectDestroy(CUtexObject object) { OB_TWIN_DRIVER_IS(cudaDestroyTextureObject(object)); }
CUresult cuSurfObjectCreate(CUsurfObject* object, const CUDA_RESOURCE_DESC* resource) {
  OB_TWIN_DRIVER_IS(resource == nullptr ? cudaErrorInvalidValue : create_surface(object, *resource));
}
CUresult cuSurfObjectDestroy(CUsurfObject object) { OB_TWIN_DRIVER_IS(cudaDestroySurfaceObject(object)); }

// Arrays of texels, and memory of three dimensions.  The rows of an array are contiguous in device memory.
#include "arrays.h"

#include <cuda_runtime_api.h>

#include "state.h"
#include "streams.h"

namespace opbridge_twin {

namespace {

// One side of a copy: the bytes of a row, where the first is, and how far it is to the next row and slice.
struct Side {
  char* data;
  size_t pitch, slice;
};

size_t rows_of(const cudaArray& array) { return array.extent.height == 0 ? 1 : array.extent.height; }
size_t slices_of(const cudaArray& array) { return array.extent.depth == 0 ? 1 : array.extent.depth; }
size_t row_bytes(const cudaArray& array) { return array.extent.width * texel_bytes(array.format); }

Side side_of(const cudaArray& array, size_t byte, size_t row, size_t slice) {
  const size_t pitch = row_bytes(array), height = pitch * rows_of(array);
  return {static_cast<char*>(array.data) + slice * height + row * pitch + byte, pitch, height};
}

bool is_within(const cudaArray& array, size_t byte, size_t row, size_t slice, cudaExtent bytes) {
  return byte + bytes.width <= row_bytes(array) && row + bytes.height <= rows_of(array) &&
         slice + bytes.depth <= slices_of(array);
}

cudaError_t copy_rows(Side to, Side from, cudaExtent bytes, cudaMemcpyKind kind) {
  for (size_t slice = 0; slice < bytes.depth; ++slice) {
    const cudaError_t error = cudaMemcpy2D(to.data + slice * to.slice, to.pitch, from.data + slice * from.slice,
                                           from.pitch, bytes.width, bytes.height, kind);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

// A row's worth of memory that has no rows of its own is one.
Side plain(const void* memory, size_t pitch) { return {static_cast<char*>(const_cast<void*>(memory)), pitch, 0}; }

// As many bytes as are asked for from a place on, row after row.
cudaError_t copy_bytes(const cudaArray* array, size_t byte, size_t row, const void* memory, size_t bytes,
                       cudaMemcpyKind kind, bool to_array) {
  if (array == nullptr) return noted(cudaErrorInvalidResourceHandle);
  const size_t first = row * row_bytes(*array) + byte, all = row_bytes(*array) * rows_of(*array);
  if (first > all || bytes > all - first) return noted(cudaErrorInvalidValue);
  char* const inside = static_cast<char*>(array->data) + first;
  return to_array ? cudaMemcpy(inside, memory, bytes, kind)
                  : cudaMemcpy(const_cast<void*>(memory), inside, bytes, kind);
}

cudaError_t copy_box(const cudaMemcpy3DParms& how) {
  const cudaArray* const arrays[] = {how.dstArray, how.srcArray};
  const cudaPos positions[] = {how.dstPos, how.srcPos};
  const cudaPitchedPtr pointers[] = {how.dstPtr, how.srcPtr};
  // The memory on the other side of a copy counts texels like the array.
  const size_t texel = how.dstArray != nullptr   ? texel_bytes(how.dstArray->format)
                       : how.srcArray != nullptr ? texel_bytes(how.srcArray->format)
                                                 : 1;
  const cudaExtent bytes{how.extent.width * texel, how.extent.height, how.extent.depth};
  Side sides[2];
  for (int i = 0; i < 2; ++i) {
    const cudaPos at = positions[i];
    if ((arrays[i] == nullptr) == (pointers[i].ptr == nullptr)) return noted(cudaErrorInvalidValue);
    if (arrays[i] != nullptr) {
      if (!is_within(*arrays[i], at.x * texel, at.y, at.z, bytes)) return noted(cudaErrorInvalidValue);
      sides[i] = side_of(*arrays[i], at.x * texel, at.y, at.z);
    } else {
      const size_t pitch = pointers[i].pitch, slice = pitch * pointers[i].ysize;
      sides[i] = {static_cast<char*>(pointers[i].ptr) + at.z * slice + at.y * pitch + at.x, pitch, slice};
    }
  }
  return copy_rows(sides[0], sides[1], bytes, how.kind);
}

}  // namespace

size_t texel_bytes(const cudaChannelFormatDesc& format) {
  return static_cast<size_t>(format.x + format.y + format.z + format.w) / 8;
}

}  // namespace opbridge_twin

using namespace opbridge_twin;

cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* format, cudaExtent extent,
                              unsigned flags) {
  if (array == nullptr || format == nullptr || extent.width == 0 || texel_bytes(*format) == 0) {
    return noted(cudaErrorInvalidValue);
  }
  if ((flags & cudaArrayCubemap) != 0) return noted(cudaErrorNotSupported);
  cudaArray made{nullptr, *format, extent, flags};
  const cudaError_t error = cudaMalloc(&made.data, row_bytes(made) * rows_of(made) * slices_of(made));
  if (error != cudaSuccess) return error;
  *array = new cudaArray(made);
  return cudaSuccess;
}
cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* format, size_t width, size_t height,
                            unsigned flags) {
  return cudaMalloc3DArray(array, format, {width, height, 0}, flags);
}
cudaError_t cudaFreeArray(cudaArray_t array) {
  if (array == nullptr) return cudaSuccess;
  const cudaError_t error = cudaFree(array->data);
  delete array;
  return error;
}
cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent, unsigned* flags, cudaArray_t array) {
  if (array == nullptr) return noted(cudaErrorInvalidResourceHandle);
  if (format != nullptr) *format = array->format;
  if (extent != nullptr) *extent = array->extent;
  if (flags != nullptr) *flags = array->flags;
  return cudaSuccess;
}
cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* format, cudaArray_const_t array) {
  return cudaArrayGetInfo(format, nullptr, nullptr, const_cast<cudaArray_t>(array));
}

cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t byte, size_t row, const void* from, size_t bytes,
                              cudaMemcpyKind kind) {
  return copy_bytes(to, byte, row, from, bytes, kind, true);
}
cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, size_t byte, size_t row, size_t bytes,
                                cudaMemcpyKind kind) {
  return copy_bytes(from, byte, row, to, bytes, kind, false);
}
cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t byte, size_t row, const void* from, size_t from_pitch,
                                size_t width, size_t height, cudaMemcpyKind kind) {
  if (to == nullptr || !is_within(*to, byte, row, 0, {width, height, 1})) return noted(cudaErrorInvalidValue);
  return copy_rows(side_of(*to, byte, row, 0), plain(from, from_pitch), {width, height, 1}, kind);
}
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t byte, size_t row, const void* from, size_t from_pitch,
                                     size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return on_stream(stream, [=] { return cudaMemcpy2DToArray(to, byte, row, from, from_pitch, width, height, kind); });
}
cudaError_t cudaMemcpy2DFromArray(void* to, size_t to_pitch, cudaArray_const_t from, size_t byte, size_t row,
                                  size_t width, size_t height, cudaMemcpyKind kind) {
  if (from == nullptr || !is_within(*from, byte, row, 0, {width, height, 1})) return noted(cudaErrorInvalidValue);
  return copy_rows(plain(to, to_pitch), side_of(*from, byte, row, 0), {width, height, 1}, kind);
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* memory, cudaExtent extent) {
  if (memory == nullptr) return noted(cudaErrorInvalidValue);
  *memory = {nullptr, 0, extent.width, extent.height};
  return cudaMallocPitch(&memory->ptr, &memory->pitch, extent.width, extent.height * extent.depth);
}
cudaError_t cudaMemset3D(cudaPitchedPtr memory, int value, cudaExtent extent) {
  for (size_t slice = 0; slice < extent.depth; ++slice) {
    char* const first = static_cast<char*>(memory.ptr) + slice * memory.pitch * memory.ysize;
    const cudaError_t error = cudaMemset2D(first, memory.pitch, value, extent.width, extent.height);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* how) {
  return how == nullptr ? noted(cudaErrorInvalidValue) : copy_box(*how);
}
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* how, cudaStream_t stream) {
  if (how == nullptr) return noted(cudaErrorInvalidValue);
  const cudaMemcpy3DParms kept = *how;
  return on_stream(stream, [=] { return copy_box(kept); });
}

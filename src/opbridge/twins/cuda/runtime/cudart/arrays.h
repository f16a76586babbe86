// Arrays of texels.
#ifndef OPBRIDGE_TWIN_RUNTIME_CUDART_ARRAYS_H
#define OPBRIDGE_TWIN_RUNTIME_CUDART_ARRAYS_H

#include <cuda_runtime_api.h>

// Owns its device memory; an extent of 0 in a dimension says that it has none.
struct cudaArray {
  void* data;
  cudaChannelFormatDesc format;
  cudaExtent extent;
  unsigned flags;
};

namespace opbridge_twin {

size_t texel_bytes(const cudaChannelFormatDesc& format);

}  // namespace opbridge_twin
#endif

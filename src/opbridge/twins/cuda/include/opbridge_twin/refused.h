// Declares by name what the twin lacks, so that a use reports it.
#ifndef OPBRIDGE_TWIN_REFUSED_H
#define OPBRIDGE_TWIN_REFUSED_H

#include <driver_types.h>

namespace opbridge_twin {
template <class...>
constexpr bool kSupported = false;
}  // namespace opbridge_twin

#define OB_TWIN_REFUSED_FUNCTION(name, what)                                                    \
  template <class... T, class... Arguments>                                                     \
  auto name(Arguments&&...) {                                                                   \
    static_assert(opbridge_twin::kSupported<T..., Arguments...>,                                \
                  what ": not supported by the CUDA twin, which docs/cuda.md says more about"); \
    return cudaErrorNotSupported;                                                               \
  }
#define OB_TWIN_TEXTURES(name) OB_TWIN_REFUSED_FUNCTION(name, "cube maps, mipmaps and texture references")

OB_TWIN_TEXTURES(texCubemap)
OB_TWIN_TEXTURES(cudaBindTexture)
OB_TWIN_TEXTURES(cudaBindTexture2D)
OB_TWIN_TEXTURES(cudaBindTextureToArray)
OB_TWIN_TEXTURES(cudaMallocMipmappedArray)

OB_TWIN_REFUSED_FUNCTION(cudaIpcGetMemHandle, "memory of other processes")
OB_TWIN_REFUSED_FUNCTION(cudaIpcOpenMemHandle, "memory of other processes")
OB_TWIN_REFUSED_FUNCTION(cudaIpcGetEventHandle, "memory of other processes")
OB_TWIN_REFUSED_FUNCTION(cudaImportExternalMemory, "external memory objects")
OB_TWIN_REFUSED_FUNCTION(cudaGraphConditionalHandleCreate, "conditional nodes of graphs")
OB_TWIN_REFUSED_FUNCTION(cudaGraphAddNode, "nodes of graphs of any kind by one function")
#undef OB_TWIN_TEXTURES
#undef OB_TWIN_REFUSED_FUNCTION

namespace opbridge_twin {

// Any value, and none well: a program's own function of the name fits every call better.
struct AnyValue {
  AnyValue() = default;
  template <class T>
  AnyValue(const T&) {}
};

}  // namespace opbridge_twin

// What no GPU since Volta has, and CUDA 13 no more.
#define OB_TWIN_WITHOUT_MASK(name)                                                               \
  template <class T = int>                                                                       \
  T name(opbridge_twin::AnyValue, opbridge_twin::AnyValue = {}, opbridge_twin::AnyValue = {}) {  \
    static_assert(opbridge_twin::kSupported<T>,                                                  \
                  #name " says not which lanes take part, and is gone since CUDA 13: " #name     \
                        "_sync(mask, ...) takes their mask first, 0xffffffff for a whole warp"); \
    return 0;                                                                                    \
  }
OB_TWIN_WITHOUT_MASK(__shfl)
OB_TWIN_WITHOUT_MASK(__shfl_up)
OB_TWIN_WITHOUT_MASK(__shfl_down)
OB_TWIN_WITHOUT_MASK(__shfl_xor)
OB_TWIN_WITHOUT_MASK(__any)
OB_TWIN_WITHOUT_MASK(__all)
OB_TWIN_WITHOUT_MASK(__ballot)
#undef OB_TWIN_WITHOUT_MASK

// The least of a type that a declaration can be made of.
template <class T, int kDimensions = 1, int kMode = 0>
struct texture {
  static_assert(
      opbridge_twin::kSupported<T>,
      "texture references, which CUDA 12 removed: not supported by the CUDA twin; a cudaTextureObject_t takes "
      "their place");
};
template <class T, int kDimensions = 1>
struct surface {
  static_assert(
      opbridge_twin::kSupported<T>,
      "texture references, which CUDA 12 removed: not supported by the CUDA twin; a cudaTextureObject_t takes "
      "their place");
};

#endif

// What the twin lacks, by its names, so that a use says so.
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
#define OB_TWIN_TEXTURES(name) OB_TWIN_REFUSED_FUNCTION(name, "textures and surfaces but for linear memory")
#define OB_TWIN_GRAPHS(name) OB_TWIN_REFUSED_FUNCTION(name, "CUDA graphs that are not captured from a stream")

OB_TWIN_TEXTURES(tex1D)
OB_TWIN_TEXTURES(tex1DLayered)
OB_TWIN_TEXTURES(tex2D)
OB_TWIN_TEXTURES(tex2DLod)
OB_TWIN_TEXTURES(tex2DLayered)
OB_TWIN_TEXTURES(tex3D)
OB_TWIN_TEXTURES(texCubemap)
OB_TWIN_TEXTURES(surf1Dread)
OB_TWIN_TEXTURES(surf1Dwrite)
OB_TWIN_TEXTURES(surf2Dread)
OB_TWIN_TEXTURES(surf2Dwrite)
OB_TWIN_TEXTURES(surf3Dread)
OB_TWIN_TEXTURES(surf3Dwrite)
OB_TWIN_TEXTURES(cudaCreateSurfaceObject)
OB_TWIN_TEXTURES(cudaDestroySurfaceObject)
OB_TWIN_TEXTURES(cudaBindTexture)
OB_TWIN_TEXTURES(cudaBindTexture2D)
OB_TWIN_TEXTURES(cudaBindTextureToArray)
OB_TWIN_TEXTURES(cudaMallocArray)
OB_TWIN_TEXTURES(cudaMalloc3DArray)
OB_TWIN_TEXTURES(cudaMallocMipmappedArray)
OB_TWIN_TEXTURES(cudaMemcpyToArray)
OB_TWIN_TEXTURES(cudaMemcpy2DToArray)

OB_TWIN_GRAPHS(cudaStreamGetCaptureInfo)
OB_TWIN_GRAPHS(cudaThreadExchangeStreamCaptureMode)
OB_TWIN_GRAPHS(cudaGraphCreate)
OB_TWIN_GRAPHS(cudaGraphAddKernelNode)
OB_TWIN_GRAPHS(cudaGraphAddMemcpyNode)
OB_TWIN_GRAPHS(cudaGraphAddMemcpyNode1D)
OB_TWIN_GRAPHS(cudaGraphAddMemsetNode)
OB_TWIN_GRAPHS(cudaGraphAddHostNode)
OB_TWIN_GRAPHS(cudaGraphAddDependencies)
OB_TWIN_GRAPHS(cudaGraphAddChildGraphNode)
OB_TWIN_GRAPHS(cudaGraphAddNode)
OB_TWIN_GRAPHS(cudaGraphKernelNodeSetParams)
OB_TWIN_GRAPHS(cudaGraphExecKernelNodeSetParams)

OB_TWIN_REFUSED_FUNCTION(cudaIpcGetMemHandle, "memory of other processes")
OB_TWIN_REFUSED_FUNCTION(cudaIpcOpenMemHandle, "memory of other processes")
OB_TWIN_REFUSED_FUNCTION(cudaIpcGetEventHandle, "memory of other processes")
OB_TWIN_REFUSED_FUNCTION(cudaImportExternalMemory, "external memory objects")
OB_TWIN_REFUSED_FUNCTION(cudaMemcpy3D, "three-dimensional arrays")
OB_TWIN_REFUSED_FUNCTION(cudaMalloc3D, "three-dimensional arrays")
OB_TWIN_REFUSED_FUNCTION(cudaLaunchKernelExC, "launches with attributes")
OB_TWIN_REFUSED_FUNCTION(cudaLaunchKernelEx, "launches with attributes")
OB_TWIN_REFUSED_FUNCTION(cudaMemPoolCreate, "memory pools of one's own")
OB_TWIN_REFUSED_FUNCTION(cudaDeviceEnablePeerAccess, "several devices")
#undef OB_TWIN_TEXTURES
#undef OB_TWIN_GRAPHS
#undef OB_TWIN_REFUSED_FUNCTION

// The least of a type that a declaration can be made of.
template <class T, int kDimensions = 1, int kMode = 0>
struct texture {
  static_assert(opbridge_twin::kSupported<T>,
                "textures and surfaces but for linear memory: not supported by the CUDA twin, which docs/cuda.md says "
                "more about");
};
template <class T, int kDimensions = 1>
struct surface {
  static_assert(opbridge_twin::kSupported<T>,
                "textures and surfaces but for linear memory: not supported by the CUDA twin, which docs/cuda.md says "
                "more about");
};

#endif

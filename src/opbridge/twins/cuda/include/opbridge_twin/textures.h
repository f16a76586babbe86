// Textures over linear memory: an object is a description that is kept, and a fetch is a load.
#ifndef OPBRIDGE_TWIN_TEXTURES_H
#define OPBRIDGE_TWIN_TEXTURES_H

#include <cuda_runtime_api.h>
#include <opbridge_twin/thread.h>

#include <type_traits>

template <class T>
cudaChannelFormatDesc cudaCreateChannelDesc() {
  constexpr bool kIsVector = std::is_class<T>::value;
  cudaChannelFormatDesc made{0, 0, 0, 0, cudaChannelFormatKindNone};
  if constexpr (kIsVector) {
    made = cudaCreateChannelDesc<std::decay_t<decltype(T::x)>>();
    const int channels = static_cast<int>(sizeof(T) / sizeof(T::x));
    made.y = channels > 1 ? made.x : 0;
    made.z = channels > 2 ? made.x : 0;
    made.w = channels > 3 ? made.x : 0;
  } else {
    made.x = 8 * sizeof(T);
    made.f = std::is_floating_point<T>::value ? cudaChannelFormatKindFloat
             : std::is_signed<T>::value       ? cudaChannelFormatKindSigned
                                              : cudaChannelFormatKindUnsigned;
  }
  return made;
}

template <class T>
OB_TWIN_INLINE T tex1Dfetch(cudaTextureObject_t object, int at) {
  return static_cast<const T*>(ob_twin_texture_memory(object, sizeof(T)))[at];
}
template <class T>
OB_TWIN_INLINE void tex1Dfetch(T* to, cudaTextureObject_t object, int at) {
  *to = tex1Dfetch<T>(object, at);
}

#endif

// Textures and surfaces: what an object describes is looked at by the twin, and each texel is loaded by the thread.
#ifndef OPBRIDGE_TWIN_TEXTURES_H
#define OPBRIDGE_TWIN_TEXTURES_H

#include <cuda_runtime_api.h>
#include <opbridge_twin/intrinsics.h>
#include <opbridge_twin/thread.h>

#include <type_traits>

#include "../../../../include/opbridge/half.h"

namespace opbridge_twin {

// A type of texels: its channels, and the type of one.
template <class T, bool is_vector = std::is_class<T>::value>
struct TexelOf {
  using Channel = T;
  static constexpr int kChannels = 1;
};
template <class T>
struct TexelOf<T, true> {
  using Channel = std::decay_t<decltype(T::x)>;
  static constexpr int kChannels = static_cast<int>(sizeof(T) / sizeof(Channel));
};

// Copied by the twin: some processors' compilers copy so much by a call of memcpy, which the checks would see here.
OB_TWIN_INLINE ob_twin_texels texels_of(unsigned long long object) {
  ob_twin_texels texels;
  ob_twin_texels_of(object, &texels);
  return texels;
}

[[noreturn]] OB_TWIN_INLINE void misused_texels(const char* why) { ob_twin_trap(this_thread(), why); }

OB_TWIN_INLINE int channel_bits(const ob_twin_texels& of, int channel) {
  return channel == 0 ? of.format.x : channel == 1 ? of.format.y : channel == 2 ? of.format.z : of.format.w;
}

OB_TWIN_INLINE unsigned load_channel(const void* from, int bits) {
  return bits == 8    ? *static_cast<const unsigned char*>(from)
         : bits == 16 ? *static_cast<const unsigned short*>(from)
                      : *static_cast<const unsigned*>(from);
}

// A number of a channel's format, as one of the type that a fetch gives.
template <class Channel>
OB_TWIN_INLINE Channel channel_as(const ob_twin_texels& of, unsigned bits, int width) {
  if (of.format.f == cudaChannelFormatKindFloat) {
    const float value =
        width == 16 ? ob::detail::half_to_float(static_cast<unsigned short>(bits)) : bits_as<float>(bits);
    return static_cast<Channel>(value);
  }
  const bool is_signed = of.format.f == cudaChannelFormatKindSigned;
  const int value = static_cast<int>(bits << (32 - width)) >> (32 - width);
  if (of.how.readMode == cudaReadModeElementType) {
    return is_signed ? static_cast<Channel>(value) : static_cast<Channel>(bits);
  }
  const float most = static_cast<float>((1u << (width - is_signed)) - 1);
  const float share = is_signed ? static_cast<float>(value) / most : static_cast<float>(bits) / most;
  return static_cast<Channel>(share < -1 ? -1 : share);
}

// Four channels, or as many as there are.
template <class Channel>
struct Texel {
  Channel channels[4];
};

// Maps an index that may be outside of the texels; returns -1 for the border.
OB_TWIN_INLINE int index_within(int index, int count, cudaTextureAddressMode mode) {
  if (index >= 0 && index < count) return index;
  if (mode == cudaAddressModeBorder) return -1;
  if (mode == cudaAddressModeWrap) return ((index % count) + count) % count;
  if (mode == cudaAddressModeMirror) {
    const int within = ((index % (2 * count)) + 2 * count) % (2 * count);
    return within < count ? within : 2 * count - 1 - within;
  }
  return index < 0 ? 0 : count - 1;
}

template <class Channel>
OB_TWIN_INLINE Texel<Channel> load_texel(const ob_twin_texels& of, int channels, int x, int y, int z) {
  Texel<Channel> made{};
  const cudaTextureAddressMode sides[] = {of.how.addressMode[0], of.how.addressMode[1],
                                          of.layered ? cudaAddressModeClamp : of.how.addressMode[2]};
  x = index_within(x, of.width, sides[0]);
  y = index_within(y, of.height, sides[1]);
  z = index_within(z, of.depth, sides[2]);
  if (x < 0 || y < 0 || z < 0) {
    for (int c = 0; c < channels; ++c) made.channels[c] = static_cast<Channel>(of.how.borderColor[c]);
    return made;
  }
  const int bits = of.format.x;
  const char* const texel = static_cast<const char*>(of.data) + static_cast<size_t>(z) * of.slice +
                            static_cast<size_t>(y) * of.pitch + static_cast<size_t>(x) * channels * bits / 8;
  for (int c = 0; c < channels; ++c) {
    made.channels[c] = channel_as<Channel>(of, load_channel(texel + c * bits / 8, bits), bits);
  }
  return made;
}

// A coordinate in texels; modes that repeat are there for those in shares of the whole alone.
OB_TWIN_INLINE float in_texels(ob_twin_texels& of, int dimension, float at, int count) {
  auto& mode = of.how.addressMode[dimension];
  const bool repeats = mode == cudaAddressModeWrap || mode == cudaAddressModeMirror;
  if (of.how.normalizedCoords) return at * static_cast<float>(count);
  if (repeats) mode = cudaAddressModeClamp;
  return at;
}

// Two neighbours of a coordinate, and the share of the second in 256ths, as the hardware has it.
struct Neighbours {
  int first;
  float share;
};
OB_TWIN_INLINE Neighbours neighbours(float at) {
  const float whole = floorf(at - 0.5f);
  return {static_cast<int>(whole), rintf((at - 0.5f - whole) * 256) / 256};
}

template <class T>
OB_TWIN_INLINE T as_texel(const Texel<typename TexelOf<T>::Channel>& from) {
  T made;
  __builtin_memcpy(&made, from.channels, sizeof made);
  return made;
}

template <class T>
OB_TWIN_INLINE T fetch(cudaTextureObject_t object, int dimensions, float x, float y, float z, bool layered = false) {
  using Channel = typename TexelOf<T>::Channel;
  constexpr int kChannels = TexelOf<T>::kChannels;
  ob_twin_texels of = texels_of(object);
  int channels = 0;
  while (channels < 4 && channel_bits(of, channels) != 0) ++channels;
  const bool as_stored = of.how.readMode == cudaReadModeElementType && of.format.x != 16;
  if (channels != kChannels || (as_stored && of.format.x != 8 * static_cast<int>(sizeof(Channel)))) {
    misused_texels("a texture is fetched as another type than it was made of");
  }
  if (layered != (of.layered != 0)) misused_texels("a texture of layers is fetched as one without, or the reverse");
  x = in_texels(of, 0, x, of.width);
  y = dimensions > 1 ? in_texels(of, 1, y, of.height) : 0.5f;
  z = layered ? z + 0.5f : dimensions > 2 ? in_texels(of, 2, z, of.depth) : 0.5f;
  if (of.how.filterMode == cudaFilterModePoint) {
    return as_texel<T>(load_texel<Channel>(of, channels, static_cast<int>(floorf(x)), static_cast<int>(floorf(y)),
                                           static_cast<int>(floorf(z))));
  }
  const Neighbours sides[] = {neighbours(x), dimensions > 1 ? neighbours(y) : Neighbours{0, 0},
                              dimensions > 2 ? neighbours(z) : Neighbours{static_cast<int>(floorf(z)), 0}};
  Texel<Channel> sum{};
  for (int corner = 0; corner < 1 << dimensions; ++corner) {
    float weight = 1;
    int at[3];
    for (int i = 0; i < 3; ++i) {
      const bool second = (corner >> i & 1) != 0;
      at[i] = sides[i].first + second;
      if (i < dimensions) weight *= second ? sides[i].share : 1 - sides[i].share;
    }
    if (weight == 0) continue;
    const Texel<Channel> one = load_texel<Channel>(of, channels, at[0], at[1], at[2]);
    for (int c = 0; c < channels; ++c) sum.channels[c] += static_cast<Channel>(weight * one.channels[c]);
  }
  return as_texel<T>(sum);
}

// Where a surface has the bytes, or null where a mode says that nothing is there.
template <class T>
OB_TWIN_INLINE char* surface_place(cudaSurfaceObject_t object, int dimensions, int byte, int y, int z,
                                   cudaSurfaceBoundaryMode mode) {
  const ob_twin_texels of = texels_of(object);
  constexpr int kBytes = sizeof(T);
  if (byte % kBytes != 0) misused_texels("a surface's x counts bytes: expected a multiple of the texel's size");
  const int width = static_cast<int>(of.pitch) / kBytes;
  int at[] = {byte / kBytes, y, z};
  const int counts[] = {width, of.height, of.depth};
  for (int i = 0; i < 3; ++i) {
    if (i >= dimensions) at[i] = 0;
    if (at[i] >= 0 && at[i] < counts[i]) continue;
    if (mode == cudaBoundaryModeTrap) misused_texels("a surface is read or written outside its texels");
    if (mode == cudaBoundaryModeZero) return nullptr;
    at[i] = at[i] < 0 ? 0 : counts[i] - 1;
  }
  return static_cast<char*>(of.data) + static_cast<size_t>(at[2]) * of.slice + static_cast<size_t>(at[1]) * of.pitch +
         static_cast<size_t>(at[0]) * kBytes;
}
template <class T>
OB_TWIN_INLINE T surface_read(const char* place) {
  return place == nullptr ? T{} : *reinterpret_cast<const T*>(place);
}
template <class T>
OB_TWIN_INLINE void surface_write(char* place, const T& value) {
  if (place != nullptr) *reinterpret_cast<T*>(place) = value;
}

}  // namespace opbridge_twin

template <class T>
cudaChannelFormatDesc cudaCreateChannelDesc() {
  using Channel = typename opbridge_twin::TexelOf<T>::Channel;
  constexpr int kChannels = opbridge_twin::TexelOf<T>::kChannels, kBits = 8 * static_cast<int>(sizeof(Channel));
  const cudaChannelFormatKind kind = std::is_floating_point<Channel>::value ? cudaChannelFormatKindFloat
                                     : std::is_signed<Channel>::value       ? cudaChannelFormatKindSigned
                                                                            : cudaChannelFormatKindUnsigned;
  return {kBits, kChannels > 1 ? kBits : 0, kChannels > 2 ? kBits : 0, kChannels > 3 ? kBits : 0, kind};
}
inline cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}
inline cudaChannelFormatDesc cudaCreateChannelDescHalf() { return {16, 0, 0, 0, cudaChannelFormatKindFloat}; }

inline cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth) { return {width, height, depth}; }
inline cudaPos make_cudaPos(size_t x, size_t y, size_t z) { return {x, y, z}; }
inline cudaPitchedPtr make_cudaPitchedPtr(void* memory, size_t pitch, size_t width, size_t height) {
  return {memory, pitch, width, height};
}

template <class T>
OB_TWIN_INLINE T tex1Dfetch(cudaTextureObject_t object, int at) {
  const ob_twin_texels of = opbridge_twin::texels_of(object);
  if (of.how.readMode == cudaReadModeElementType &&
      of.format.x + of.format.y + of.format.z + of.format.w == 8 * static_cast<int>(sizeof(T))) {
    return static_cast<const T*>(of.data)[at];
  }
  return opbridge_twin::fetch<T>(object, 1, static_cast<float>(at), 0, 0);
}
template <class T>
OB_TWIN_INLINE T tex1D(cudaTextureObject_t object, float x) {
  return opbridge_twin::fetch<T>(object, 1, x, 0, 0);
}
template <class T>
OB_TWIN_INLINE T tex2D(cudaTextureObject_t object, float x, float y) {
  return opbridge_twin::fetch<T>(object, 2, x, y, 0);
}
template <class T>
OB_TWIN_INLINE T tex3D(cudaTextureObject_t object, float x, float y, float z) {
  return opbridge_twin::fetch<T>(object, 3, x, y, z);
}
template <class T>
OB_TWIN_INLINE T tex1DLayered(cudaTextureObject_t object, float x, int layer) {
  return opbridge_twin::fetch<T>(object, 1, x, 0, static_cast<float>(layer), true);
}
template <class T>
OB_TWIN_INLINE T tex2DLayered(cudaTextureObject_t object, float x, float y, int layer) {
  return opbridge_twin::fetch<T>(object, 2, x, y, static_cast<float>(layer), true);
}
// For one level, because the twin has no mipmaps.
template <class T>
OB_TWIN_INLINE T tex1DLod(cudaTextureObject_t object, float x, float) {
  return tex1D<T>(object, x);
}
template <class T>
OB_TWIN_INLINE T tex2DLod(cudaTextureObject_t object, float x, float y, float) {
  return tex2D<T>(object, x, y);
}
template <class T>
OB_TWIN_INLINE T tex3DLod(cudaTextureObject_t object, float x, float y, float z, float) {
  return tex3D<T>(object, x, y, z);
}
// The older form, which says the type by where the result goes.
#define OB_TWIN_FETCH_TO(name)                                            \
  template <class T, class... At>                                         \
  OB_TWIN_INLINE void name(T* to, cudaTextureObject_t object, At... at) { \
    *to = name<T>(object, at...);                                         \
  }
OB_TWIN_FETCH_TO(tex1Dfetch)
OB_TWIN_FETCH_TO(tex1D)
OB_TWIN_FETCH_TO(tex2D)
OB_TWIN_FETCH_TO(tex3D)
OB_TWIN_FETCH_TO(tex1DLayered)
OB_TWIN_FETCH_TO(tex2DLayered)
#undef OB_TWIN_FETCH_TO

#define OB_TWIN_SURFACE(read, write, dimensions, parameters, ...)                                                     \
  template <class T>                                                                                                  \
  OB_TWIN_INLINE T read(cudaSurfaceObject_t object, int x parameters,                                                 \
                        cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                                        \
    return opbridge_twin::surface_read<T>(opbridge_twin::surface_place<T>(object, dimensions, x, __VA_ARGS__, mode)); \
  }                                                                                                                   \
  template <class T>                                                                                                  \
  OB_TWIN_INLINE void read(T* to, cudaSurfaceObject_t object, int x parameters,                                       \
                           cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                                     \
    *to = opbridge_twin::surface_read<T>(opbridge_twin::surface_place<T>(object, dimensions, x, __VA_ARGS__, mode));  \
  }                                                                                                                   \
  template <class T>                                                                                                  \
  OB_TWIN_INLINE void write(T value, cudaSurfaceObject_t object, int x parameters,                                    \
                            cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                                    \
    opbridge_twin::surface_write(opbridge_twin::surface_place<T>(object, dimensions, x, __VA_ARGS__, mode), value);   \
  }
#define OB_TWIN_AND ,
OB_TWIN_SURFACE(surf1Dread, surf1Dwrite, 1, , 0, 0)
OB_TWIN_SURFACE(surf2Dread, surf2Dwrite, 2, OB_TWIN_AND int y, y, 0)
OB_TWIN_SURFACE(surf3Dread, surf3Dwrite, 3, OB_TWIN_AND int y OB_TWIN_AND int z, y, z)
#undef OB_TWIN_AND
#undef OB_TWIN_SURFACE

#endif

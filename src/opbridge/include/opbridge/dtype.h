// Element types: the codes of abi.h, their C++ types, and their names in messages.
#ifndef OPBRIDGE_DTYPE_H
#define OPBRIDGE_DTYPE_H

#include "abi.h"

#if defined(__CUDACC__)
#define OB_HOST_DEVICE __host__ __device__
#else
#define OB_HOST_DEVICE
#endif

// Inlined at any size, because a loop with a call stays scalar.
#define OB_ALWAYS_INLINE OB_HOST_DEVICE __attribute__((always_inline)) inline

namespace ob {

// Hidden: two libraries built from different versions of these headers must not bind to each other's functions.
namespace [[gnu::visibility("hidden")]] detail {

constexpr const char* dtype_names[] = {
#define OB_NAME(number, wire, bytes) #wire,
    OB_FOR_EACH_DTYPE(OB_NAME)
#undef OB_NAME
};

constexpr int64_t dtype_sizes[] = {
#define OB_SIZE(number, wire, bytes) bytes,
    OB_FOR_EACH_DTYPE(OB_SIZE)
#undef OB_SIZE
};

}  // namespace detail

// Instead of an element type: a tensor whose type the kernel reads by dtype().
struct any {};

// The type of elements as a value, for attributes and for tensors of `any`.
struct DType {
  int32_t code;

  const char* name() const {
    return code >= 0 && code < OB_DTYPE_COUNT ? detail::dtype_names[code] : "an unknown dtype";
  }
  constexpr int64_t itemsize() const { return code >= 0 && code < OB_DTYPE_COUNT ? detail::dtype_sizes[code] : 0; }

  friend constexpr bool operator==(DType a, DType b) { return a.code == b.code; }
  friend constexpr bool operator!=(DType a, DType b) { return a.code != b.code; }
};

namespace [[gnu::visibility("hidden")]] detail {

// The code of a C++ type: the only list of types that tensors may hold.
template <class T>
struct DTypeCode {
  static_assert(
      sizeof(T) == 0,
      "ob: this type is not a tensor element. Take bool, (u)int8_t to (u)int64_t, ob::half, ob::bfloat16, float, "
      "double, ob::any, or std::complex after #include <opbridge/complex.h>");
};

#define OB_ELEMENT(type, wire)                                                         \
  template <>                                                                          \
  struct DTypeCode<type> {                                                             \
    static constexpr int32_t value = OB_##wire;                                        \
    static_assert(sizeof(type) == DType{value}.itemsize(), "unlike the dtype's size"); \
  };

OB_ELEMENT(bool, bool)
OB_ELEMENT(uint8_t, uint8)
OB_ELEMENT(int8_t, int8)
OB_ELEMENT(uint16_t, uint16)
OB_ELEMENT(int16_t, int16)
OB_ELEMENT(uint32_t, uint32)
OB_ELEMENT(int32_t, int32)
OB_ELEMENT(uint64_t, uint64)
OB_ELEMENT(int64_t, int64)
OB_ELEMENT(float, float32)
OB_ELEMENT(double, float64)

template <>
struct DTypeCode<any> {
  static constexpr int32_t value = OB_DTYPE_ANY;
};

}  // namespace detail

template <class T>
constexpr DType dtype_of{detail::DTypeCode<T>::value};

}  // namespace ob
#endif

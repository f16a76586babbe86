// ob::half and ob::bfloat16 as CUDA's own functions take them, and back; apart from kernel.h because CUDA's headers of
// the two are slow to compile.
#ifndef OPBRIDGE_CUDA_HALF_H
#define OPBRIDGE_CUDA_HALF_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <opbridge/kernel.h>

namespace ob {
namespace [[gnu::visibility("hidden")]] detail {

// CUDA's type for the same bits; types that the two share stand for themselves.
template <class T>
struct CudaType {
  using type = T;
};
template <>
struct CudaType<half> {
  using type = __half;
};
template <>
struct CudaType<bfloat16> {
  using type = __nv_bfloat16;
};
template <class T>
struct CudaType<const T> {
  using type = const typename CudaType<T>::type;
};

}  // namespace detail

// __half for half, __nv_bfloat16 for bfloat16, T for any other.
template <class T>
using cuda_type = typename detail::CudaType<T>::type;

template <class T>
OB_HOST_DEVICE cuda_type<T> to_cuda(T value) {
  return detail::bits_as<cuda_type<T>>(value);
}

template <class T>
OB_HOST_DEVICE cuda_type<T>* to_cuda(T* data) {
  return reinterpret_cast<cuda_type<T>*>(data);
}

OB_HOST_DEVICE inline half from_cuda(__half value) { return detail::bits_as<half>(value); }
OB_HOST_DEVICE inline bfloat16 from_cuda(__nv_bfloat16 value) { return detail::bits_as<bfloat16>(value); }

}  // namespace ob
#endif

// Stands before PyTorch's header of this name: the twin's atomics for PyTorch's types.
#ifndef OPBRIDGE_TWIN_ATEN_CUDA_ATOMIC_CUH
#define OPBRIDGE_TWIN_ATEN_CUDA_ATOMIC_CUH

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

inline c10::Half atomicAdd(c10::Half* address, c10::Half value) {
  const __half before = atomicAdd(reinterpret_cast<__half*>(address), __float2half(static_cast<float>(value)));
  return __half2float(before);
}

inline c10::BFloat16 atomicAdd(c10::BFloat16* address, c10::BFloat16 value) {
  auto* const place = reinterpret_cast<__nv_bfloat16*>(address);
  return __bfloat162float(atomicAdd(place, __float2bfloat16(static_cast<float>(value))));
}

inline void atomicAdd(int64_t* address, int64_t value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(address), static_cast<unsigned long long>(value));
}

template <class T>
T gpuAtomicAdd(T* address, T value) {
  if constexpr (sizeof(T) == 8 && std::is_integral_v<T>) {
    return static_cast<T>(
        atomicAdd(reinterpret_cast<unsigned long long*>(address), static_cast<unsigned long long>(value)));
  } else {
    return atomicAdd(address, value);
  }
}

template <class T>
void gpuAtomicAddNoReturn(T* address, T value) {
  gpuAtomicAdd(address, value);
}

#endif

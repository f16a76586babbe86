// Asynchronous copies to shared memory as functions of C; they have happened when they are asked for.
#ifndef OPBRIDGE_TWIN_CUDA_PIPELINE_H
#define OPBRIDGE_TWIN_CUDA_PIPELINE_H

#include <cuda_runtime.h>

namespace opbridge_twin {

template <class T>
OB_TWIN_INLINE void copy_to_shared(void* to, const void* from, size_t from_bytes) {
  *static_cast<T*>(to) = from_bytes == sizeof(T) ? *static_cast<const T*>(from) : T{};
}

}  // namespace opbridge_twin

// Of `bytes` bytes the last `zeros` are not read but become 0.
OB_TWIN_INLINE void __pipeline_memcpy_async(void* to, const void* from, size_t bytes, size_t zeros = 0) {
  if (!ob_twin_is_shared(to)) {
    ob_twin_trap(opbridge_twin::this_thread(), "__pipeline_memcpy_async copies to shared memory alone");
  }
  if (zeros != 0 && zeros < bytes) {
    auto* const target = static_cast<unsigned char*>(to);
    for (size_t i = 0; i < bytes; ++i) target[i] = i < bytes - zeros ? static_cast<const unsigned char*>(from)[i] : 0;
    return;
  }
  switch (bytes) {
    case 4:
      return opbridge_twin::copy_to_shared<unsigned>(to, from, bytes - zeros);
    case 8:
      return opbridge_twin::copy_to_shared<uint2>(to, from, bytes - zeros);
    case 16:
      return opbridge_twin::copy_to_shared<uint4>(to, from, bytes - zeros);
    default:
      ob_twin_trap(opbridge_twin::this_thread(), "__pipeline_memcpy_async copies 4, 8 or 16 bytes");
  }
}
OB_TWIN_INLINE void __pipeline_commit() {}
OB_TWIN_INLINE void __pipeline_wait_prior(size_t) {}

#endif

// Asynchronous copies to shared memory as functions of C.  They happen when they are asked for, and the checks count
// them as under way until the thread has waited.
#ifndef OPBRIDGE_TWIN_CUDA_PIPELINE_H
#define OPBRIDGE_TWIN_CUDA_PIPELINE_H

#include <cuda_runtime.h>

namespace opbridge_twin {

template <class T>
OB_TWIN_INLINE void copy_element(void* to, const void* from, size_t from_bytes) {
  *static_cast<T*>(to) = from_bytes == sizeof(T) ? *static_cast<const T*>(from) : T{};
}

OB_TWIN_INLINE void copy_to_shared(void* to, const void* from, size_t bytes, size_t zeros) {
  if (zeros != 0 && zeros < bytes) {
    auto* const target = static_cast<unsigned char*>(to);
    for (size_t i = 0; i < bytes; ++i) target[i] = i < bytes - zeros ? static_cast<const unsigned char*>(from)[i] : 0;
    return;
  }
  switch (bytes) {
    case 4:
      return copy_element<unsigned>(to, from, bytes - zeros);
    case 8:
      return copy_element<uint2>(to, from, bytes - zeros);
    case 16:
      return copy_element<uint4>(to, from, bytes - zeros);
    default:
      ob_twin_trap(opbridge_twin::this_thread(), "__pipeline_memcpy_async copies 4, 8 or 16 bytes");
  }
}

}  // namespace opbridge_twin

// Copies `bytes` bytes; the last `zeros` of them are not read but become 0.
OB_TWIN_INLINE void __pipeline_memcpy_async(void* to, const void* from, size_t bytes, size_t zeros = 0) {
  if (!ob_twin_is_shared(to)) {
    ob_twin_trap(opbridge_twin::this_thread(), "__pipeline_memcpy_async copies to shared memory alone");
  }
  opbridge_twin::copy_to_shared(to, from, bytes, zeros);
  ob_twin_copy_begins(to, bytes);
}
OB_TWIN_INLINE void __pipeline_commit() { ob_twin_copies_commit(); }
OB_TWIN_INLINE void __pipeline_wait_prior(size_t prior) { ob_twin_copies_wait(static_cast<unsigned>(prior)); }

#endif

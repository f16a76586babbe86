// Memory, barriers and copies in inline PTX, as code for Hopper has them.
#ifndef KERNELS_HOPPER_CUH
#define KERNELS_HOPPER_CUH

#include <stdint.h>

extern "C" int allocate(void** memory, size_t bytes) {
  const cudaError_t error = cudaMallocManaged(memory, bytes);
  return error != cudaSuccess ? error : cudaMemset(*memory, 0, bytes);
}
extern "C" int release(void* memory) { return cudaFree(memory); }

__device__ __forceinline__ uint32_t in_shared(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
__device__ __forceinline__ void init(uint64_t* barrier, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(in_shared(barrier)), "r"(count));
}
__device__ __forceinline__ void arrive_expecting(uint64_t* barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(in_shared(barrier)), "r"(bytes)
               : "memory");
}
// The loop stands in the text, as libraries write it.
__device__ __forceinline__ void wait(uint64_t* barrier, uint32_t parity) {
  asm volatile(
      "{\n .reg .pred P1;\n LAB_WAIT:\n mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n @P1 bra DONE;\n"
      " bra LAB_WAIT;\n DONE:\n}" ::"r"(in_shared(barrier)),
      "r"(parity)
      : "memory");
}
__device__ __forceinline__ void copy_in(void* to, const void* from, uint32_t bytes, uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(in_shared(to)),
      "l"(from), "r"(bytes), "r"(in_shared(barrier))
      : "memory");
}

#endif

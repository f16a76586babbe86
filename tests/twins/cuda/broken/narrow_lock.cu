// The lock is one for the threads of a block; the PTX of it says so by .cta.
#include <cuda_runtime.h>

static __device__ int lock_of_block = 0;

static __global__ void add_alone(int* sum) {
  if (threadIdx.x != 0) return;
  int taken = 1;
  while (taken != 0) {
    asm volatile("atom.acquire.cta.global.cas.b32 %0, [%1], 0, 1;" : "=r"(taken) : "l"(&lock_of_block) : "memory");
  }
  *sum += 1;
  asm volatile("st.release.cta.global.b32 [%0], 0;" ::"l"(&lock_of_block) : "memory");
}

extern "C" void narrow_lock() {
  int* sum;
  cudaMalloc(&sum, sizeof(int));
  cudaMemset(sum, 0, sizeof(int));
  add_alone<<<2, 32>>>(sum);
  cudaDeviceSynchronize();
  cudaFree(sum);
}

// Reported:
// cuda-twin: add_alone: two blocks race on global memory: an atomic of one block is not atomic for another block [global-race]
//   one     atomic update at narrow_lock.cu:13, thread (0, 0, 0) of block (0, 0, 0)
//   other   atomic update of 4 bytes at narrow_lock.cu:10, thread (0, 0, 0) of block (1, 0, 0)
//   address 0x…, 0 bytes into the 4 bytes of the variable `lock_of_block`
//   hint    use the function without _block, or thread_scope_device: blocks are of one device, not of one block
// cuda-twin: add_alone: two threads race on global memory: nothing orders them, and one writes [global-race]
//   one     write at narrow_lock.cu:12, thread (0, 0, 0) of block (0, 0, 0)
//   other   read of 4 bytes at narrow_lock.cu:12, thread (0, 0, 0) of block (1, 0, 0)
//   address 0x…, 0 bytes into the 4 bytes that cudaMalloc gave at narrow_lock.cu:18
//   hint    let one thread write each element, use atomics, or split the kernel in two; blocks have no order

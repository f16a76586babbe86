// The fence is for the block alone, and the reader is in another one.
#include <cuda_runtime.h>

static __global__ void pass_on(int* data, int* flag, int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    *data = 41;
    __threadfence_block();
    atomicExch(flag, 1);
  } else {
    while (atomicAdd(flag, 0) == 0) {
    }
    __threadfence();
    *out = *data + 1;
  }
}

extern "C" void narrow_fence() {
  int* memory;
  cudaMalloc(&memory, 3 * sizeof(int));
  cudaMemset(memory, 0, 3 * sizeof(int));
  pass_on<<<2, 32>>>(memory, memory + 1, memory + 2);
  cudaDeviceSynchronize();
  cudaFree(memory);
}

// Reported:
// cuda-twin: pass_on: two threads race on global memory: nothing orders them, and one writes [global-race]
//   one     write at narrow_fence.cu:7, thread (0, 0, 0) of block (0, 0, 0)
//   other   read of 4 bytes at narrow_fence.cu:14, thread (0, 0, 0) of block (1, 0, 0)
//   address 0x…, 0 bytes into the 12 bytes that cudaMalloc gave at narrow_fence.cu:20
//   hint    let one thread write each element, use atomics, or split the kernel in two; blocks have no order

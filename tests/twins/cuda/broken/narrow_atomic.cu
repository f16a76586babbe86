// An atomic for the threads of a block, and several blocks count in one place.
#include <cuda_runtime.h>

static __global__ void count_all(int* count) { atomicAdd_block(count, 1); }

extern "C" void narrow_atomic() {
  int* count;
  cudaMalloc(&count, sizeof(int));
  cudaMemset(count, 0, sizeof(int));
  count_all<<<2, 64>>>(count);
  cudaDeviceSynchronize();
  cudaFree(count);
}

// Reported:
// cuda-twin: count_all: two blocks race on global memory: an atomic of one block is not atomic for another block [global-race]
//   one     atomic update at narrow_atomic.cu:4, thread (63, 0, 0) of block (0, 0, 0)
//   other   atomic update of 4 bytes at narrow_atomic.cu:4, thread (0, 0, 0) of block (1, 0, 0)
//   address 0x…, 0 bytes into the 4 bytes that cudaMalloc gave at narrow_atomic.cu:8
//   hint    use the function without _block, or thread_scope_device: blocks are of one device, not of one block

// Threads count what a function keeps for all of them, without atomics.
#include <cuda_runtime.h>

static __device__ int next_number() {
  static int handed_out;
  return handed_out++;
}

static __global__ void number_threads(int* out) { out[threadIdx.x] = next_number(); }

extern "C" void static_counter() {
  int* out;
  cudaMalloc(&out, 32 * sizeof(int));
  number_threads<<<1, 32>>>(out);
  cudaDeviceSynchronize();
  cudaFree(out);
}

// Reported:
// cuda-twin: number_threads: two threads race on global memory: nothing orders them, and one writes [global-race]
//   one     write at static_counter.cu:6, thread (0, 0, 0) of block (0, 0, 0)
//   other   read of 4 bytes at static_counter.cu:6, thread (1, 0, 0) of block (0, 0, 0)
//   address 0x…, 0 bytes into the 4 bytes of the variable `handed_out`
//   hint    let one thread write each element, use atomics, or split the kernel in two; blocks have no order

// A flag that is volatile, and no atomic: compilers and GPUs do what was meant, and CUDA's memory model does not say so.
#include <cuda_runtime.h>

static __global__ void pass_by_volatile(volatile int* flag, int* value) {
  if (threadIdx.x == 1) {
    *value = 7;
    __threadfence();
    *flag = 1;
  } else if (threadIdx.x == 0) {
    while (*flag == 0) {
    }
    __threadfence();
    *value += 1;
  }
}

extern "C" void volatile_flag() {
  int* memory;
  cudaMalloc(&memory, 2 * sizeof(int));
  cudaMemset(memory, 0, 2 * sizeof(int));
  pass_by_volatile<<<1, 64>>>(memory, memory + 1);
  cudaDeviceSynchronize();
  cudaFree(memory);
}

// Reported:
// cuda-twin: pass_by_volatile: threads hand over a value by volatile, which orders nothing [volatile-sync]
//   one     volatile read at volatile_flag.cu:10, thread (0, 0, 0) of block (0, 0, 0)
//   other   volatile write of 4 bytes at volatile_flag.cu:8, thread (1, 0, 0) of block (0, 0, 0)
//   address 0x…, 0 bytes into the 8 bytes that cudaMalloc gave at volatile_flag.cu:19
//   hint    use an atomic, such as cuda::atomic_ref or atomicAdd(p, 0): CUDA's memory model has no order for volatile

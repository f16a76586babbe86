// An allocation that nobody made.
#include <cuda_runtime.h>

static __global__ void count_up(int* counter) { *counter += 1; }

extern "C" void null_pointer() {
  count_up<<<1, 1>>>(nullptr);
  cudaDeviceSynchronize();
}

// Reported:
// cuda-twin: count_up: read of 4 bytes through a null pointer [null-pointer]
//   where   null_pointer.cu:4, thread (0, 0, 0) of block (0, 0, 0)
//   address 0x0
//   to do   give it the address of memory; where that was to be allocated, look at the error that came back

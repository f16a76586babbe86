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
//   hint    pass the address of allocated memory, and check the error that the allocation returned

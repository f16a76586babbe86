// Waits for a flag that no thread will ever set.
#include <cuda_runtime.h>

static __global__ void wait_for(const int* flag, int* x) {
  while (*const_cast<const volatile int*>(flag) == 0) {
  }
  *x = 1;
}

extern "C" void endless() {
  int* flag;
  cudaMalloc(&flag, 2 * sizeof(int));
  cudaMemset(flag, 0, 2 * sizeof(int));
  wait_for<<<1, 1>>>(flag, flag + 1);
  cudaDeviceSynchronize();
  cudaFree(flag);
}

// Reported:
// cuda-twin: wait_for: the launch has run for longer than it may [endless]
//   where   endless.cu:5, thread (0, 0, 0) of block (0, 0, 0)
//   hint    look for a loop that never ends; OPBRIDGE_TWIN_TIMEOUT sets the limit in seconds, 0 for none

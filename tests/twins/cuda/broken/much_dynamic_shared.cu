// More dynamic shared memory than a kernel has that did not ask for it.
#include <cuda_runtime.h>

static __global__ void turn_around_many(int* x) {
  extern __shared__ int many[];
  many[blockDim.x - 1 - threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = many[threadIdx.x];
}

extern "C" void much_dynamic_shared() {
  turn_around_many<<<1, 64, 65536>>>(nullptr);
  cudaGetLastError();
}

// Reported:
// cuda-twin: turn_around_many: the launch asks for 65536 bytes of dynamic shared memory, and 49152 are allowed [bad-launch]
//   where   much_dynamic_shared.cu:12
//   hint    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) allows up to 166912

#include <stdio.h>

struct Pair {
  char letter;
  double number;
};

__device__ int launches;
__constant__ float factor[2];

extern "C" __global__ void scale(const float* x, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) out[i] = factor[0] * x[i];
}

__global__ void mixed(char a, Pair b, short c, float3 d, double* out) {
  if (threadIdx.x == 0) atomicAdd(&launches, 1);
  out[threadIdx.x] = a + b.letter + b.number + c + d.z;
}
__global__ void mixed(int* out) { *out = 0; }

namespace space {
__device__ int inner = 7;
}

extern "C" __global__ void shared_sum(const float* x, float* out) {
  extern __shared__ float all[];
  all[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    float sum = 0;
    for (unsigned i = 0; i < blockDim.x; ++i) sum += all[i];
    *out = sum;
  }
}

extern "C" __global__ void ask(int* architecture) {
#if __CUDA_ARCH__ >= 800
  *architecture = __CUDA_ARCH__;
#endif
}

#ifdef __CUDA_ARCH__
extern "C" __global__ void of_devices_alone(int* out) { *out = 1; }
#endif

// A function pointer that was changed.
#include <cuda_runtime.h>

#include <cstdint>

typedef float (*Function)(float);

static __global__ void apply_changed(float* x, Function function) {
  const auto changed = reinterpret_cast<Function>(reinterpret_cast<uintptr_t>(function) << 4);
  x[threadIdx.x] = changed(x[threadIdx.x]);
}

static __device__ float twice_of(float x) { return 2 * x; }

extern "C" void bad_call_of_number() {
  float* x;
  cudaMalloc(&x, 32 * sizeof(float));
  cudaMemset(x, 0, 32 * sizeof(float));
  apply_changed<<<1, 32>>>(x, twice_of);
  cudaDeviceSynchronize();
  cudaFree(x);
}

// Reported:
// cuda-twin: apply_changed: a call of something that is not a device function [bad-call]
//   where   bad_call_of_number.cu:10, thread (0, 0, 0) of block (0, 0, 0)
//   hint    check the function pointer: it is null, was changed, or is a function of the host

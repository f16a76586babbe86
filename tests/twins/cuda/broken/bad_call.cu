// A function pointer that nobody has set.
#include <cuda_runtime.h>

typedef float (*Function)(float);

static __global__ void apply(float* x, Function function) { x[threadIdx.x] = function(x[threadIdx.x]); }

extern "C" void bad_call() {
  float* x;
  cudaMalloc(&x, 32 * sizeof(float));
  cudaMemset(x, 0, 32 * sizeof(float));
  apply<<<1, 32>>>(x, nullptr);
  cudaDeviceSynchronize();
  cudaFree(x);
}

// Reported:
// cuda-twin: apply: a call through a null pointer [bad-call]
//   where   bad_call.cu:6, thread (0, 0, 0) of block (0, 0, 0)
//   hint    check the function pointer: it is null, was changed, or is a function of the host

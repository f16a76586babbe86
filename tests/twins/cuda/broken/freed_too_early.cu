// A stream gives memory back that the kernel of another one may still write.
#include <cuda_runtime.h>

static __global__ void fill_slowly(int* x) { x[threadIdx.x] = threadIdx.x; }

extern "C" void freed_too_early() {
  cudaStream_t one, other;
  cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  int* x;
  cudaMallocAsync(reinterpret_cast<void**>(&x), 32 * sizeof(int), one);
  fill_slowly<<<1, 32, 0, one>>>(x);
  cudaFreeAsync(x, other);
  cudaDeviceSynchronize();
  cudaStreamDestroy(one);
  cudaStreamDestroy(other);
}

// Reported:
// cuda-twin: cudaFreeAsync: work of two streams races on global memory: nothing orders them, and one writes [stream-race]
//   one     write of 128 bytes at freed_too_early.cu:13
//   other   write at freed_too_early.cu:4, on another stream
//   address 0x…, 0 bytes into the 128 bytes that cudaMallocAsync gave at freed_too_early.cu:11
//   hint    record an event after the first (cudaEventRecord) and make the other stream wait for it (cudaStreamWaitEvent)

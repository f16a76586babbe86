// The second stream has an event to wait for, and does not.
#include <cuda_runtime.h>

static __global__ void fill_in(float* x) { x[threadIdx.x] = threadIdx.x; }
static __global__ void read_there(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }

extern "C" void stream_not_waited() {
  float *x, *y;
  cudaMalloc(&x, 32 * sizeof(float));
  cudaMalloc(&y, 32 * sizeof(float));
  cudaStream_t one, other;
  cudaStreamCreate(&one);
  cudaStreamCreate(&other);
  cudaEvent_t filled;
  cudaEventCreate(&filled);
  fill_in<<<1, 32, 0, one>>>(x);
  cudaEventRecord(filled, one);
  read_there<<<1, 32, 0, other>>>(x, y);
  cudaDeviceSynchronize();
  cudaEventDestroy(filled);
  cudaStreamDestroy(one);
  cudaStreamDestroy(other);
  cudaFree(x);
  cudaFree(y);
}

// Reported:
// cuda-twin: read_there: work of two streams races on global memory: nothing orders them, and one writes [stream-race]
//   one     read of 4 bytes at stream_not_waited.cu:5, thread (0, 0, 0) of block (0, 0, 0)
//   other   write at stream_not_waited.cu:4, on another stream
//   address 0x…, 0 bytes into the 128 bytes that cudaMalloc gave at stream_not_waited.cu:9
//   hint    record an event after the first (cudaEventRecord) and make the other stream wait for it (cudaStreamWaitEvent)

// The lock is let go behind a fence, and taken without one: what its last owner wrote need not be seen yet.
#include <cuda_runtime.h>

static __device__ int taken = 0;

static __global__ void add_in_turn(int* sum) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(&taken, 0, 1) != 0) {
  }
  *sum += 1;
  __threadfence();
  atomicExch(&taken, 0);
}

extern "C" void missing_fence() {
  int* sum;
  cudaMalloc(&sum, sizeof(int));
  cudaMemset(sum, 0, sizeof(int));
  add_in_turn<<<16, 32>>>(sum);
  cudaDeviceSynchronize();
  cudaFree(sum);
}

// Reported:
// cuda-twin: add_in_turn: a thread uses global memory after a relaxed atomic, without a fence in between [missing-fence]
//   one     write at missing_fence.cu:10, thread (0, 0, 0) of block (0, 0, 0)
//   other   read of 4 bytes at missing_fence.cu:10, thread (0, 0, 0) of block (1, 0, 0)
//   address 0x…, 0 bytes into the 4 bytes that cudaMalloc gave at missing_fence.cu:17
//   hint    put __threadfence() between taking the lock or flag and using what it guards, or acquire by cuda::atomic_ref

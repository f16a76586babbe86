// A copy in bulk may not see what threads have just written: it reads by another proxy.
#include <cuda_runtime.h>

static __global__ void send(float* to) {
  __shared__ alignas(128) float tile[32];
  tile[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x != 0) return;
  const auto from = static_cast<unsigned>(__cvta_generic_to_shared(tile));
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 128;" ::"l"(to), "r"(from) : "memory");
  asm volatile("cp.async.bulk.commit_group;\n cp.async.bulk.wait_group.read 0;" ::: "memory");
}

extern "C" void proxy_fence() {
  float* memory;
  cudaMalloc(&memory, 32 * sizeof(float));
  send<<<1, 32>>>(memory);
  cudaDeviceSynchronize();
  cudaFree(memory);
}

// Reported:
// cuda-twin: send: a bulk copy reads shared memory that a thread has written without a proxy fence after it [missing-proxy-fence]
//   where   proxy_fence.cu:10, thread (0, 0, 0) of block (0, 0, 0)
//   write   proxy_fence.cu:6, thread (0, 0, 0) of block (0, 0, 0)
//   address 0x…, 0 bytes into the 128 bytes of tile
//   hint    put fence.proxy.async.shared::cta after the writes, in each thread that writes, then a barrier, then the copy

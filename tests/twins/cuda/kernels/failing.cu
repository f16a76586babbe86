// Launches that fail, each in its way.
#include <assert.h>

#include <cstdio>

__global__ void nothing() {}
__global__ void set(int* x, int value) { *x = value; }

extern "C" int launch_of(unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, size_t shared) {
  nothing<<<dim3(gx, gy, gz), dim3(bx, by, bz), shared>>>();
  return cudaGetLastError();
}

__global__ void trap_in_block(int which) {
  if (blockIdx.x == which && threadIdx.x == 3) __trap();
}

extern "C" int launch_trap() {
  trap_in_block<<<8, 32>>>(5);
  const cudaError_t launched = cudaGetLastError();
  int* x;
  const cudaError_t then = cudaMalloc(&x, 4);
  return launched == then ? then : -1;
}

__global__ void assert_small(int most) { assert(threadIdx.x < most && "too many threads"); }

extern "C" int launch_assert(int most) {
  assert_small<<<1, 32>>>(most);
  return cudaDeviceSynchronize();
}

__global__ void trap_behind_a_barrier() {
  __syncthreads();
  if (threadIdx.x < blockDim.x) __trap();
}

extern "C" int launch_trap_behind_a_barrier() {
  trap_behind_a_barrier<<<1, 32>>>();
  return cudaDeviceSynchronize();
}

__global__ void trap_in(unsigned block) {
  for (int i = 0; i < 20; ++i) __syncthreads();
  if (blockIdx.x == block) __trap();
}

extern "C" int launch_that_fails_in(unsigned block, int blocks) {
  trap_in<<<blocks, 64>>>(block);
  return cudaDeviceSynchronize();
}

__global__ void trap_in_a_warp() {
  const int sum = __reduce_add_sync(~0u, 1);
  if (sum == 32 && threadIdx.x == 7) __trap();
}

extern "C" int launch_trap_in_a_warp() {
  trap_in_a_warp<<<1, 64>>>();
  return cudaDeviceSynchronize();
}

// The last to come is one that ends.
__global__ void leave_two_waiting(int* x) {
  if (threadIdx.x == 0) __syncthreads();
  if (threadIdx.x == 1) __syncwarp(3);
  x[0] = 1;
}

extern "C" int launch_that_gets_stuck() {
  int* x;
  cudaMalloc(&x, 4);
  leave_two_waiting<<<1, 64>>>(x);
  return cudaDeviceSynchronize();
}

__global__ void wait_for_each_other(int* x) {
  if (threadIdx.x == 0) {
    __syncthreads();
  } else {
    __syncwarp();
    x[0] = 1;
  }
}

extern "C" int launch_divergent() {
  int* x;
  cudaMalloc(&x, 4);
  wait_for_each_other<<<1, 32>>>(x);
  return cudaDeviceSynchronize();
}

__global__ void wrong_mask() { __shfl_sync(0xff00u, 1, 0); }

extern "C" int launch_wrong_mask() {
  wrong_mask<<<1, 1>>>();
  return cudaDeviceSynchronize();
}

__global__ void large(int* x) {
  __shared__ int memory[48 * 1024 / 4], more[1];
  memory[threadIdx.x] = more[0] = 1;
  __syncthreads();
  x[0] = memory[0];
}

extern "C" int launch_large() {
  int* x;
  cudaMalloc(&x, 4);
  large<<<1, 1>>>(x);
  return cudaDeviceSynchronize();
}

// A later launch works once the error is forgotten.
extern "C" int launch_after(int* out) {
  int* x;
  cudaMalloc(&x, 4);
  set<<<1, 1>>>(x, 42);
  const cudaError_t error = cudaMemcpy(out, x, 4, cudaMemcpyDeviceToHost);
  cudaFree(x);
  return error;
}

__global__ void keep_own(int* x) {
  int own = blockIdx.x * blockDim.x + threadIdx.x;
  volatile int* const on_the_stack = &own;
  __syncthreads();
  *on_the_stack += 1;
  __syncthreads();
  x[blockIdx.x * blockDim.x + threadIdx.x] = *on_the_stack;
}

// Threads that wait, each with a stack of its own.
extern "C" int launch_together(int* out, int blocks, int threads) {
  int* x;
  const int bytes = blocks * threads * sizeof *x;
  cudaMalloc(&x, bytes);
  keep_own<<<blocks, threads>>>(x);
  const cudaError_t error = cudaMemcpy(out, x, bytes, cudaMemcpyDeviceToHost);
  cudaFree(x);
  return error;
}

extern "C" int overflow() {
  int* x;
  cudaMalloc(&x, 4096);
  set<<<1, 1>>>(x + 1024, 1);
  return cudaDeviceSynchronize();
}

extern "C" void print_from_kernel();
__global__ void print() { printf("block %d of %d\n", blockIdx.x, gridDim.x); }
extern "C" void print_from_kernel() {
  print<<<1, 1>>>();
  fflush(stdout);
}

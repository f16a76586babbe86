// Kernels that launch kernels, for test_launched_by_kernels.py.
__global__ void fill(int* out, int n, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = value;
}
__global__ void add_all(const int* values, int n, int* sum) {
  for (int i = 0; i < n; ++i) *sum += values[i];
}

// Each block fills its own part; the sum is asked for first, and comes last.
__global__ void parts(int* values, int each, int* sum) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) add_all<<<1, 1, 0, cudaStreamTailLaunch>>>(values, gridDim.x * each, sum);
  fill<<<1, 32, 0, cudaStreamFireAndForget>>>(values + blockIdx.x * each, each, blockIdx.x + 1);
}

__global__ void halve(int* calls, int n) {
  if (threadIdx.x != 0) return;
  atomicAdd(calls, 1);
  if (n == 1) return;
  for (int half = 0; half < 2; ++half) halve<<<1, 2>>>(calls, n / 2);
}

__global__ void beyond(int* values, int n) {
  if (threadIdx.x == 0) fill<<<1, 64>>>(values, n + 1, 7);
}
__global__ void too_large(int* values) { fill<<<1, 2048>>>(values, 1, 7); }

extern "C" int run_parts(int* values, int blocks, int each, int* sum) {
  parts<<<blocks, 32>>>(values, each, sum);
  return cudaGetLastError();
}
extern "C" int run_halve(int* calls, int n) {
  halve<<<1, 2>>>(calls, n);
  return cudaGetLastError();
}
extern "C" int run_beyond(int* values, int n) {
  beyond<<<1, 32>>>(values, n);
  return cudaGetLastError();
}
extern "C" int run_too_large(int* values) {
  too_large<<<1, 1>>>(values);
  return cudaGetLastError();
}
extern "C" int allocate(void** memory, size_t bytes) { return cudaMallocManaged(memory, bytes); }
extern "C" int release(void* memory) { return cudaFree(memory); }

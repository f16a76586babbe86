// Kernels whose threads come to all of their barriers together, with variables that live across these.
constexpr int kMost = 96;
#define MINE threadIdx.x
#define HALF(n) ((n) / 2)

__device__ int place_of_this() { return threadIdx.x + blockDim.x * threadIdx.y; }

// What each thread has found, in a variable, an array of its own and a constant.
__global__ void kept(int n, const float* x, float* y) {
  __shared__ float values[kMost];
  const int i = threadIdx.x + blockDim.x * threadIdx.y, all = blockDim.x * blockDim.y;
  const float first = i < n ? x[i] : 0;
  float sum = 0, parts[2] = {first, 0};
  values[i] = first;
  __syncthreads();
#pragma unroll
  for (int k = 1; k < 4; ++k) {
    sum += values[(i + k) % all];
    parts[k % 2] += 1;
    __syncthreads();
  }
  values[i] = sum + parts[1];
  __syncthreads();
  if (i >= n) return;
  y[i] = values[all - 1 - i] + first + parts[0];
}

// What is alike in all threads: counters, what they turn around, and conditions.
template <class T>
__global__ void alike(int n, const T* x, T* y) {
  __shared__ T values[2][kMost];
  int from = 0, turns = 0;
  const int i = place_of_this();
  const int all = blockDim.x * blockDim.y;
  values[0][i] = i < n ? x[i] : T(0);
  __syncthreads();
  for (int step = all; step > 1; step /= 2) {
    values[1 - from][i] = values[from][(i + HALF(2 * step)) % all];
    from = 1 - from;
    ++turns;
    __syncthreads();
  }
  if (n > 1) {
    values[1 - from][i] = values[from][(i + 1) % all] + T(turns);
    __syncthreads();
    from = 1 - from;
  }
  while (turns > 0) {
    T own = values[from][i];
    __syncthreads();
    values[from][(i + 1) % all] = own;
    __syncthreads();
    turns -= 1;
  }
  if (i < n) y[i] = values[from][i];
}

// Threads whose ways part, and that each have their own place and their own count of turns.
__global__ void apart(int n, const float* x, float* y) {
  extern __shared__ float values[];
  float* const others = values + kMost;
  int i = MINE + blockDim.x * threadIdx.y;
  values[i] = 0;
  others[i] = i < n ? x[i] : 0;
  __syncthreads();
  for (int k = 0; k < i % 3; ++k) {
    if (k == 1) continue;
    values[i] += others[i];
  }
  if (i % 2 == 0) atomicAdd(&values[i], 1.0f);
  atomicAdd(&others[0], 2.0f);
  i += 1;
  __syncthreads();
  if (i <= n) y[i - 1] = values[i - 1] + others[0];
}

extern "C" int run_in_phases(int which, int width, int height, int n, const float* x, float* y) {
  float *in, *out;
  cudaMalloc(&in, kMost * sizeof(float));
  cudaMalloc(&out, kMost * sizeof(float));
  cudaMemset(out, 0, kMost * sizeof(float));
  cudaMemcpy(in, x, n * sizeof(float), cudaMemcpyHostToDevice);
  const dim3 block(width, height);
  if (which == 0) kept<<<1, block>>>(n, in, out);
  if (which == 1) alike<<<1, block>>>(n, in, out);
  if (which == 2) apart<<<1, block, 2 * kMost * sizeof(float)>>>(n, in, out);
  cudaMemcpy(y, out, kMost * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(in);
  cudaFree(out);
  return cudaGetLastError();
}

// Kernels that say first which threads take part.
constexpr int kWidth = 32;

__global__ void inside(int n, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = 2 * x[i];
  }
}

template <class T>
__global__ void left_early(size_t n, const T* x, T* y) {
  size_t i = threadIdx.x, base = size_t(blockIdx.x) * blockDim.x;  // two of them
  if (base + i >= n) return;
  y[base + i] = 2 * x[base + i];
}

__global__ void in_two_dimensions(int width, int height, const float* x, float* y) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < height && column < width) y[row * width + column] = 2 * x[row * width + column];
}

// Who does not pass has work too.
__global__ void either(int n, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i % 2 == 0 && i < n)
    y[i] = 2 * x[i];
  else if (i < n)
    y[i] = x[i] + x[i];
}

// What stands before the guard may change a variable that the guard knows by another name.
__global__ void parameter_changes(int n, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    n = 0;
    y[i] = 2 * x[i];
  }
}

static int blocks_of(int n) { return (n + kWidth - 1) / kWidth; }

extern "C" int run_guarded(int which, int n, const float* from, float* to, int room) {
  float *x, *y;
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&y, room * sizeof(float));
  cudaMemcpy(x, from, n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(y, to, room * sizeof(float), cudaMemcpyHostToDevice);
  if (which == 0) inside<<<blocks_of(n), kWidth>>>(n, x, y);
  if (which == 1) left_early<<<blocks_of(n), kWidth>>>(static_cast<size_t>(n), x, y);
  if (which == 2) in_two_dimensions<<<dim3(blocks_of(n), 1), dim3(kWidth, 4)>>>(n, 1, x, y);
  if (which == 3) either<<<blocks_of(n), kWidth>>>(n, x, y);
  if (which == 4) parameter_changes<<<blocks_of(n), kWidth>>>(n, x, y);
  cudaMemcpy(to, y, room * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(x);
  cudaFree(y);
  return cudaGetLastError();
}

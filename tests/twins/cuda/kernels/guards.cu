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

__global__ void strided(int n, const float* x, float* y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = 2 * x[i];
}

template <class T>
__global__ void strided_in_steps(size_t n, const T* x, T* y) {
  const int t = threadIdx.x;
  const size_t step = size_t(gridDim.x) * blockDim.x;
  for (size_t i = t + (size_t)blockIdx.x * blockDim.x; i < n; i += step) {
    T sum = 0;
    for (int k = 0; k < 2; ++k) sum += x[i];
    if (t < 0) continue;
    y[i] = sum;
  }
}

// A turn that decides about the next one is no turn of another block.
__global__ void strided_until(int n, const float* x, float* y) {
  int last = n;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < last; i += blockDim.x * gridDim.x) {
    y[i] = 2 * x[i];
    if (i < 0) last = 0;
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
  if (which == 5) strided<<<2, kWidth>>>(n, x, y);
  if (which == 6) strided_in_steps<<<3, dim3(kWidth, 1)>>>(static_cast<size_t>(n), x, y);
  if (which == 7) strided_until<<<2, kWidth>>>(n, x, y);
  cudaMemcpy(to, y, room * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(x);
  cudaFree(y);
  return cudaGetLastError();
}

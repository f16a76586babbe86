// What the CUDA twin is measured by; the memory that these are given is the host's, which a CPU's kernels may use.
__global__ void saxpy(int n, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

constexpr int kTile = 16;

__global__ void matrix_product(const float* a, const float* b, float* c, int n) {
  __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; k += kTile) {
    tile_a[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
    tile_b[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

__global__ void wait(int times) {
  for (int i = 0; i < times; ++i) __syncthreads();
}

extern "C" void run_saxpy(int n, float a, const float* x, float* y) {
  saxpy<<<(n + 255) / 256, 256>>>(n, a, x, y);
  cudaDeviceSynchronize();
}

extern "C" void run_matrix_product(const float* a, const float* b, float* c, int n) {
  matrix_product<<<dim3(n / kTile, n / kTile), dim3(kTile, kTile)>>>(a, b, c, n);
  cudaDeviceSynchronize();
}

extern "C" void run_wait(int threads, int times) {
  wait<<<1, threads>>>(times);
  cudaDeviceSynchronize();
}

// The same product as anybody would write it first.
extern "C" void triple_loop(const float* a, const float* b, float* c, int n) {
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
  }
}

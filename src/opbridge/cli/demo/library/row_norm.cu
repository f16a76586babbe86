#include <opbridge/kernel.h>

constexpr int kThreads = 128;

// A row to a block: its threads add up squares in shared memory, half as many in each step.
__global__ void row_norm_kernel(const float* x, float* out, int columns, float epsilon) {
  __shared__ float sums[kThreads];
  const float* row = x + int64_t(blockIdx.x) * columns;
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += kThreads) sum += row[i] * row[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  const float scale = rsqrtf(sums[0] / columns + epsilon);
  for (int i = threadIdx.x; i < columns; i += kThreads) out[int64_t(blockIdx.x) * columns + i] = row[i] * scale;
}

void row_norm(ob::In<float> x, ob::Out<float> out, double epsilon, ob::Context context) {
  if (x.numel() == 0) return;
  const int columns = x.ndim() ? x.size(-1) : 1;
  auto stream = static_cast<cudaStream_t>(context.stream());
  row_norm_kernel<<<x.numel() / columns, kThreads, 0, stream>>>(x.data(), out.data(), columns, epsilon);
}
OB_KERNEL(row_norm)

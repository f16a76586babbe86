// Twenty kernels as courses and papers have them; run, it times each and holds it against the loop of its name.
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "course.h"

__constant__ float filter_weights[2 * kRadius + 1];
__constant__ float mask_weights[9];

__global__ void saxpy(const float* x, const float* y, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2.5f * x[i] + y[i];
}

__global__ void gelu(const float* x, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] * 0.5f * (1 + erff(x[i] * 0.70710678f));
}

__global__ void black_scholes(const float* x, const float* y, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float price = 10 + 20 * x[i], strike = 10 + 20 * y[i], root = sqrtf(0.5f);
  const float d1 = (logf(price / strike) + (0.02f + 0.5f * 0.09f) * 0.5f) / (0.3f * root), d2 = d1 - 0.3f * root;
  out[i] = price * normcdff(d1) - strike * expf(-0.02f * 0.5f) * normcdff(d2);
}

__global__ void mandelbrot(float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float cx = -2 + 3.0f * float(i % 512) / 512, cy = -1 + 2.0f * float(i / 512) / 512;
  float zx = 0, zy = 0;
  int steps = 0;
  for (; steps < 64 && zx * zx + zy * zy < 4; ++steps) {
    const float next = zx * zx - zy * zy + cx;
    zy = 2 * zx * zy + cy;
    zx = next;
  }
  out[i] = float(steps);
}

__global__ void sum_by_tree(const float* x, float* out) {
  __shared__ float part[kBlock];
  const int t = threadIdx.x;
  part[t] = x[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (int half = kBlock / 2; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}

__device__ float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffff, value, offset);
  return value;
}

__device__ float block_sum(float value) {
  __shared__ float part[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  value = warp_sum(value);
  __syncthreads();
  if (lane == 0) part[warp] = value;
  __syncthreads();
  value = threadIdx.x < blockDim.x / 32 ? part[lane] : 0;
  if (warp == 0) value = warp_sum(value);
  if (threadIdx.x == 0) part[0] = value;
  __syncthreads();
  return part[0];
}

__global__ void sum_by_shuffles(const float* x, float* out) {
  const float sum = block_sum(x[blockIdx.x * blockDim.x + threadIdx.x]);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

__global__ void scan(const float* x, float* out) {
  __shared__ float sums[2][kBlock];
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  int from = 0;
  sums[0][t] = x[i];
  __syncthreads();
  for (int step = 1; step < kBlock; step *= 2) {
    sums[1 - from][t] = t >= step ? sums[from][t] + sums[from][t - step] : sums[from][t];
    from = 1 - from;
    __syncthreads();
  }
  out[i] = sums[from][t];
}

__global__ void histogram(const int* index, int* counts, int n) {
  __shared__ int mine[kBins];
  mine[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&mine[index[i] % kBins], 1);
  }
  __syncthreads();
  atomicAdd(&counts[threadIdx.x], mine[threadIdx.x]);
}

__global__ void as_floats(const int* counts, float* out) { out[threadIdx.x] = float(counts[threadIdx.x]); }

__global__ void product(const float* x, const float* y, float* out, int n) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n || column >= n) return;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += x[row * n + k] * y[k * n + column];
  out[row * n + column] = sum;
}

constexpr int kTile = 16;

__global__ void product_by_tiles(const float* x, const float* y, float* out, int n) {
  __shared__ float tile_x[kTile][kTile], tile_y[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; k += kTile) {
    tile_x[threadIdx.y][threadIdx.x] = x[row * n + k + threadIdx.x];
    tile_y[threadIdx.y][threadIdx.x] = y[(k + threadIdx.y) * n + column];
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += tile_x[threadIdx.y][i] * tile_y[i][threadIdx.x];
    __syncthreads();
  }
  out[row * n + column] = sum;
}

__global__ void transpose_by_tiles(const float* x, float* out, int n) {
  __shared__ float tile[32][33];
  int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = x[(row + j) * n + column];
  __syncthreads();
  column = blockIdx.y * 32 + threadIdx.x, row = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) out[(row + j) * n + column] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void filter_with_halo(const float* x, float* out, int n) {
  __shared__ float part[kBlock + 2 * kRadius];
  const int i = blockIdx.x * blockDim.x + threadIdx.x, at = threadIdx.x + kRadius;
  part[at] = i < n ? x[i] : 0;
  if (threadIdx.x < kRadius) {
    part[at - kRadius] = i >= kRadius ? x[i - kRadius] : 0;
    part[at + kBlock] = i + kBlock < n ? x[i + kBlock] : 0;
  }
  __syncthreads();
  float sum = 0;
  for (int j = -kRadius; j <= kRadius; ++j) sum += filter_weights[j + kRadius] * part[at + j];
  if (i < n) out[i] = sum;
}

__global__ void heat(const float* x, float* out, int n) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i == 0 || j == 0 || i >= n - 1 || j >= n - 1) return;
  const int at = i * n + j;
  out[at] = x[at] + 0.1f * (x[at - 1] + x[at + 1] + x[at - n] + x[at + n] - 4 * x[at]);
}

__global__ void blur_by_tiles(const float* x, float* out, int n) {
  __shared__ float tile[kTile + 2][kTile + 2];
  const int j = blockIdx.x * kTile + threadIdx.x, i = blockIdx.y * kTile + threadIdx.y;
  for (int k = threadIdx.y * kTile + threadIdx.x; k < (kTile + 2) * (kTile + 2); k += kTile * kTile) {
    const int row = blockIdx.y * kTile + k / (kTile + 2) - 1, column = blockIdx.x * kTile + k % (kTile + 2) - 1;
    const bool inside = row >= 0 && row < n && column >= 0 && column < n;
    tile[k / (kTile + 2)][k % (kTile + 2)] = inside ? x[row * n + column] : 0;
  }
  __syncthreads();
  float sum = 0;
  for (int di = 0; di < 3; ++di) {
    for (int dj = 0; dj < 3; ++dj) sum += mask_weights[di * 3 + dj] * tile[threadIdx.y + di][threadIdx.x + dj];
  }
  out[i * n + j] = sum;
}

__global__ void bodies_by_tiles(const float* x, const float* y, float* out, int n) {
  __shared__ float2 tile[kBlock];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float my_x = x[i], my_y = y[i];
  float force = 0;
  for (int first = 0; first < n; first += kBlock) {
    tile[threadIdx.x] = make_float2(x[first + threadIdx.x], y[first + threadIdx.x]);
    __syncthreads();
    for (int j = 0; j < kBlock; ++j) {
      const float dx = tile[j].x - my_x, dy = tile[j].y - my_y, square = dx * dx + dy * dy + 0.01f;
      force += dx / (square * sqrtf(square));
    }
    __syncthreads();
  }
  out[i] = force;
}

__global__ void sparse_rows(const float* values, const int* index, const float* y, float* out, int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int j = row * kRowLength; j < (row + 1) * kRowLength; ++j) sum += values[j] * y[index[j]];
  out[row] = sum;
}

__global__ void bitonic_sort(const float* x, float* out) {
  __shared__ float part[kBlock];
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  part[t] = x[i];
  __syncthreads();
  for (int size = 2; size <= kBlock; size *= 2) {
    for (int step = size / 2; step > 0; step /= 2) {
      const int other = t ^ step;
      if (other > t && (part[t] > part[other]) == ((t & size) == 0)) {
        const float mine = part[t];
        part[t] = part[other];
        part[other] = mine;
      }
      __syncthreads();
    }
  }
  out[i] = part[t];
}

__global__ void softmax(const float* x, float* out, int n) {
  __shared__ float part[kBlock];
  const int t = threadIdx.x;
  const float* const from = x + blockIdx.x * n;
  float most = -INFINITY;
  for (int i = t; i < n; i += kBlock) most = fmaxf(most, from[i]);
  part[t] = most;
  __syncthreads();
  for (int half = kBlock / 2; half > 0; half /= 2) {
    if (t < half) part[t] = fmaxf(part[t], part[t + half]);
    __syncthreads();
  }
  most = part[0];
  float sum = 0;
  for (int i = t; i < n; i += kBlock) sum += expf(from[i] - most);
  sum = block_sum(sum);
  for (int i = t; i < n; i += kBlock) out[blockIdx.x * n + i] = expf(from[i] - most) / sum;
}

__global__ void layer_norm(const float* x, float* out, int n) {
  const float* const from = x + blockIdx.x * n;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < n; i += kBlock) sum += from[i];
  const float mean = block_sum(sum) / float(n);
  for (int i = threadIdx.x; i < n; i += kBlock) squares += (from[i] - mean) * (from[i] - mean);
  const float scale = rsqrtf(block_sum(squares) / float(n) + 1e-5f);
  for (int i = threadIdx.x; i < n; i += kBlock) out[blockIdx.x * n + i] = (from[i] - mean) * scale;
}

__global__ void matrix_vector(const float* x, const float* y, float* out, int n) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  float sum = 0;
  for (int i = lane; i < n; i += 32) sum += x[row * n + i] * y[i];
  sum = warp_sum(sum);
  if (lane == 0) out[row] = sum;
}

namespace {

using Run = void (*)(const Arrays&);

constexpr int kBlocks = kElements / kBlock;
int* bins;

dim3 tiles(int n, int side) { return dim3(n / side, n / side); }

void count_all(const Arrays& a) {
  cudaMemset(bins, 0, kBins * sizeof(int));
  histogram<<<64, kBins>>>(a.index, bins, kElements);
  as_floats<<<1, kBins>>>(bins, a.out);
}

// In the order of kLoops.
const Run kKernels[] = {
    [](const Arrays& a) { saxpy<<<kBlocks, kBlock>>>(a.x, a.y, a.out, kElements); },
    [](const Arrays& a) { gelu<<<kBlocks, kBlock>>>(a.x, a.out, kElements); },
    [](const Arrays& a) { black_scholes<<<kBlocks, kBlock>>>(a.x, a.y, a.out, kElements); },
    [](const Arrays& a) { mandelbrot<<<kBlocks / 4, kBlock>>>(a.out, kElements / 4); },
    [](const Arrays& a) { sum_by_tree<<<kBlocks, kBlock>>>(a.x, a.out); },
    [](const Arrays& a) { sum_by_shuffles<<<kBlocks, kBlock>>>(a.x, a.out); },
    [](const Arrays& a) { scan<<<kBlocks, kBlock>>>(a.x, a.out); },
    count_all,
    [](const Arrays& a) { product<<<tiles(kProduct, kTile), dim3(kTile, kTile)>>>(a.x, a.y, a.out, kProduct); },
    [](const Arrays& a) {
      product_by_tiles<<<tiles(kProduct, kTile), dim3(kTile, kTile)>>>(a.x, a.y, a.out, kProduct);
    },
    [](const Arrays& a) { transpose_by_tiles<<<tiles(kSide, 32), dim3(32, 8)>>>(a.x, a.out, kSide); },
    [](const Arrays& a) { filter_with_halo<<<kBlocks, kBlock>>>(a.x, a.out, kElements); },
    [](const Arrays& a) { heat<<<tiles(kSide, kTile), dim3(kTile, kTile)>>>(a.x, a.out, kSide); },
    [](const Arrays& a) { blur_by_tiles<<<tiles(kSide, kTile), dim3(kTile, kTile)>>>(a.x, a.out, kSide); },
    [](const Arrays& a) { bodies_by_tiles<<<kBodies / kBlock, kBlock>>>(a.x, a.y, a.out, kBodies); },
    [](const Arrays& a) { sparse_rows<<<kRows / kBlock, kBlock>>>(a.x, a.index, a.y, a.out, kRows); },
    [](const Arrays& a) { bitonic_sort<<<kBlocks / 4, kBlock>>>(a.x, a.out); },
    [](const Arrays& a) { softmax<<<kSide, kBlock>>>(a.x, a.out, kSide); },
    [](const Arrays& a) { layer_norm<<<kSide, kBlock>>>(a.x, a.out, kSide); },
    [](const Arrays& a) { matrix_vector<<<kSide / 8, kBlock>>>(a.x, a.y, a.out, kSide); },
};

double seconds_of(Run run, const Arrays& arrays) {
  const auto now = [] {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
  };
  const double before = now();
  run(arrays);
  return now() - before;
}

template <typename T>
T* on_device(const std::vector<T>& values) {
  T* memory;
  cudaMalloc(&memory, values.size() * sizeof(T));
  cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
  return memory;
}

bool agree(const float* one, const std::vector<float>& other, int n) {
  std::vector<float> copy(n);
  cudaMemcpy(copy.data(), one, n * sizeof(float), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i) {
    if (!(std::fabs(copy[i] - other[i]) <= 1e-3f * std::max(1.0f, std::fabs(other[i])))) return false;
  }
  return true;
}

}  // namespace

// ROUNDS [KERNEL]: a line for each kernel and round, with the seconds of the kernel and of the loop.
int main(int count, char** arguments) {
  std::vector<float> x(kElements), y(kElements), out(kElements);
  std::vector<int> index(kElements);
  unsigned state = 1;
  for (int i = 0; i < kElements; ++i) {
    const auto draw = [&state] { return state = state * 1664525u + 1013904223u; };
    x[i] = float(draw() >> 8) / (1 << 24);
    y[i] = float(draw() >> 8) / (1 << 24);
    index[i] = int(draw() >> 12);
  }
  const Arrays there{on_device(x), on_device(y), on_device(index), on_device(out)};
  const Arrays here{x.data(), y.data(), index.data(), out.data()};
  bins = on_device(std::vector<int>(kBins));
  cudaMemcpyToSymbol(filter_weights, kFilter, sizeof kFilter);
  cudaMemcpyToSymbol(mask_weights, kMask, sizeof kMask);
  for (int round = 0; round < atoi(arguments[1]); ++round) {
    for (int i = 0; i < 20; ++i) {
      if (count > 2 && strcmp(arguments[2], kLoops[i].kernel) != 0) continue;
      cudaMemset(there.out, 0, kElements * sizeof(float));
      std::fill(out.begin(), out.end(), 0.0f);
      const double kernel = seconds_of(kKernels[i], there), loop = seconds_of(kLoops[i].run, here);
      printf("%s %.9f %.9f\n", kLoops[i].kernel, kernel, loop);
      if (cudaGetLastError() != cudaSuccess || !agree(there.out, out, kLoops[i].outputs)) {
        fprintf(stderr, "%s: another result than the loop's\n", kLoops[i].kernel);
        return 1;
      }
    }
  }
  for (const void* const memory : {(void*)there.x, (void*)there.y, (void*)there.index, (void*)there.out, (void*)bins}) {
    cudaFree(const_cast<void*>(memory));
  }
  return 0;
}

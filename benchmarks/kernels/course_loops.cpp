// The loops beside the kernels of course.cu, by g++ -O3 -fopenmp.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "course.h"

namespace {

void saxpy(const Arrays& a) {
#pragma omp parallel for
  for (int i = 0; i < kElements; ++i) a.out[i] = 2.5f * a.x[i] + a.y[i];
}

void gelu(const Arrays& a) {
#pragma omp parallel for
  for (int i = 0; i < kElements; ++i) a.out[i] = a.x[i] * 0.5f * (1 + erff(a.x[i] * 0.70710678f));
}

void black_scholes(const Arrays& a) {
#pragma omp parallel for
  for (int i = 0; i < kElements; ++i) {
    const float price = 10 + 20 * a.x[i], strike = 10 + 20 * a.y[i], root = sqrtf(0.5f);
    const float d1 = (logf(price / strike) + (0.02f + 0.5f * 0.09f) * 0.5f) / (0.3f * root), d2 = d1 - 0.3f * root;
    const float n1 = 0.5f * erfcf(-d1 * 0.70710678f), n2 = 0.5f * erfcf(-d2 * 0.70710678f);
    a.out[i] = price * n1 - strike * expf(-0.02f * 0.5f) * n2;
  }
}

void mandelbrot(const Arrays& a) {
#pragma omp parallel for schedule(dynamic, 16)
  for (int i = 0; i < kElements / 4; ++i) {
    const float cx = -2 + 3.0f * float(i % 512) / 512, cy = -1 + 2.0f * float(i / 512) / 512;
    float zx = 0, zy = 0;
    int steps = 0;
    for (; steps < 64 && zx * zx + zy * zy < 4; ++steps) {
      const float next = zx * zx - zy * zy + cx;
      zy = 2 * zx * zy + cy;
      zx = next;
    }
    a.out[i] = float(steps);
  }
}

// The sums of the blocks; they are what the three kernels of sums leave, too.
void block_sums(const Arrays& a) {
#pragma omp parallel for
  for (int block = 0; block < kElements / kBlock; ++block) {
    float sum = 0;
    for (int i = 0; i < kBlock; ++i) sum += a.x[block * kBlock + i];
    a.out[block] = sum;
  }
}

void block_scans(const Arrays& a) {
#pragma omp parallel for
  for (int block = 0; block < kElements / kBlock; ++block) {
    float sum = 0;
    for (int i = 0; i < kBlock; ++i) a.out[block * kBlock + i] = sum += a.x[block * kBlock + i];
  }
}

void histogram(const Arrays& a) {
  int counts[kBins] = {};
#pragma omp parallel for reduction(+ : counts[ : kBins])
  for (int i = 0; i < kElements; ++i) ++counts[a.index[i] % kBins];
  for (int i = 0; i < kBins; ++i) a.out[i] = float(counts[i]);
}

void product(const Arrays& a) {
#pragma omp parallel for
  for (int i = 0; i < kProduct; ++i) {
    for (int j = 0; j < kProduct; ++j) {
      float sum = 0;
      for (int k = 0; k < kProduct; ++k) sum += a.x[i * kProduct + k] * a.y[k * kProduct + j];
      a.out[i * kProduct + j] = sum;
    }
  }
}

void transpose(const Arrays& a) {
#pragma omp parallel for
  for (int i = 0; i < kSide; ++i) {
    for (int j = 0; j < kSide; ++j) a.out[j * kSide + i] = a.x[i * kSide + j];
  }
}

void filter(const Arrays& a) {
#pragma omp parallel for
  for (int i = 0; i < kElements; ++i) {
    float sum = 0;
    for (int j = -kRadius; j <= kRadius; ++j) {
      if (i + j >= 0 && i + j < kElements) sum += kFilter[j + kRadius] * a.x[i + j];
    }
    a.out[i] = sum;
  }
}

void heat(const Arrays& a) {
#pragma omp parallel for
  for (int i = 1; i < kSide - 1; ++i) {
    for (int j = 1; j < kSide - 1; ++j) {
      const int at = i * kSide + j;
      a.out[at] = a.x[at] + 0.1f * (a.x[at - 1] + a.x[at + 1] + a.x[at - kSide] + a.x[at + kSide] - 4 * a.x[at]);
    }
  }
}

void blur(const Arrays& a) {
#pragma omp parallel for
  for (int i = 0; i < kSide; ++i) {
    for (int j = 0; j < kSide; ++j) {
      float sum = 0;
      for (int di = -1; di <= 1; ++di) {
        for (int dj = -1; dj <= 1; ++dj) {
          const int row = i + di, column = j + dj;
          if (row < 0 || row >= kSide || column < 0 || column >= kSide) continue;
          sum += kMask[(di + 1) * 3 + dj + 1] * a.x[row * kSide + column];
        }
      }
      a.out[i * kSide + j] = sum;
    }
  }
}

void bodies(const Arrays& a) {
#pragma omp parallel for
  for (int i = 0; i < kBodies; ++i) {
    float force = 0;
    for (int j = 0; j < kBodies; ++j) {
      const float dx = a.x[j] - a.x[i], dy = a.y[j] - a.y[i], square = dx * dx + dy * dy + 0.01f;
      force += dx / (square * sqrtf(square));
    }
    a.out[i] = force;
  }
}

void sparse(const Arrays& a) {
#pragma omp parallel for
  for (int row = 0; row < kRows; ++row) {
    float sum = 0;
    for (int j = row * kRowLength; j < (row + 1) * kRowLength; ++j) sum += a.x[j] * a.y[a.index[j]];
    a.out[row] = sum;
  }
}

void sorted(const Arrays& a) {
#pragma omp parallel for
  for (int block = 0; block < kElements / 4 / kBlock; ++block) {
    float* const part = a.out + block * kBlock;
    memcpy(part, a.x + block * kBlock, kBlock * sizeof(float));
    std::sort(part, part + kBlock);
  }
}

void softmax(const Arrays& a) {
#pragma omp parallel for
  for (int row = 0; row < kSide; ++row) {
    const float* const from = a.x + row * kSide;
    float* const to = a.out + row * kSide;
    float most = from[0], sum = 0;
    for (int i = 1; i < kSide; ++i) most = std::max(most, from[i]);
    for (int i = 0; i < kSide; ++i) sum += to[i] = expf(from[i] - most);
    for (int i = 0; i < kSide; ++i) to[i] /= sum;
  }
}

void layer_norm(const Arrays& a) {
#pragma omp parallel for
  for (int row = 0; row < kSide; ++row) {
    const float* const from = a.x + row * kSide;
    float sum = 0, squares = 0;
    for (int i = 0; i < kSide; ++i) sum += from[i];
    const float mean = sum / kSide;
    for (int i = 0; i < kSide; ++i) squares += (from[i] - mean) * (from[i] - mean);
    const float scale = 1 / sqrtf(squares / kSide + 1e-5f);
    for (int i = 0; i < kSide; ++i) a.out[row * kSide + i] = (from[i] - mean) * scale;
  }
}

void matrix_vector(const Arrays& a) {
#pragma omp parallel for
  for (int row = 0; row < kSide; ++row) {
    float sum = 0;
    for (int i = 0; i < kSide; ++i) sum += a.x[row * kSide + i] * a.y[i];
    a.out[row] = sum;
  }
}

}  // namespace

const Loop kLoops[20] = {
    {"saxpy", saxpy, kElements},
    {"gelu", gelu, kElements},
    {"black_scholes", black_scholes, kElements},
    {"mandelbrot", mandelbrot, kElements / 4},
    {"sum_by_tree", block_sums, kElements / kBlock},
    {"sum_by_shuffles", block_sums, kElements / kBlock},
    {"scan", block_scans, kElements},
    {"histogram", histogram, kBins},
    {"product", product, kProduct * kProduct},
    {"product_by_tiles", product, kProduct * kProduct},
    {"transpose_by_tiles", transpose, kElements},
    {"filter_with_halo", filter, kElements},
    {"heat", heat, kElements},
    {"blur_by_tiles", blur, kElements},
    {"bodies_by_tiles", bodies, kBodies},
    {"sparse_rows", sparse, kRows},
    {"bitonic_sort", sorted, kElements / 4},
    {"softmax", softmax, kElements},
    {"layer_norm", layer_norm, kElements},
    {"matrix_vector", matrix_vector, kSide},
};

// What a line costs stands behind it, counted by hand; test_counters.py holds the twin to it.
//
// A warp runs each of them, if its name does not end in a number of threads; arrays begin at a multiple of 256 bytes.
#include <stdint.h>

struct Point {
  float x, y, z;
};

#define KERNEL(name) __global__ void name(float* x, float* y)
#define I const int i = threadIdx.x

// Global memory: sectors of 32 bytes --------------------------------------------------------------------------------

KERNEL(coalesced) {
  I;
  y[i] = x[i];  // load: 1 request, 4 sectors; store: 1 request, 4 sectors
}
KERNEL(strided_by_2) {
  I;
  y[i] = x[2 * i];  // load: 1 request, 8 sectors; store: 1 request, 4 sectors
}
KERNEL(strided_by_8) {
  I;
  y[i] = x[8 * i];  // load: 1 request, 32 sectors; store: 1 request, 4 sectors
}
KERNEL(strided_by_32) {
  I;
  y[32 * i] = x[i];  // load: 1 request, 4 sectors; store: 1 request, 32 sectors
}
KERNEL(offset_by_1) {
  I;
  y[i] = x[i + 1];  // load: 1 request, 5 sectors; store: 1 request, 4 sectors
}
KERNEL(offset_by_8) {
  I;
  y[i] = x[i + 8];  // load: 1 request, 4 sectors; store: 1 request, 4 sectors
}
KERNEL(backwards) {
  I;
  y[i] = x[31 - i];  // load: 1 request, 4 sectors; store: 1 request, 4 sectors
}
KERNEL(broadcast) {
  I;
  y[i] = x[0];  // load: 1 request, 1 sector; store: 1 request, 4 sectors
}
KERNEL(two_values) {
  I;
  y[i] = x[i / 16];  // load: 1 request, 1 sector; store: 1 request, 4 sectors
}
KERNEL(two_places) {
  I;
  y[i] = x[i / 16 * 1000];  // load: 1 request, 2 sectors; store: 1 request, 4 sectors
}
KERNEL(bytes) {
  I;
  const char v = reinterpret_cast<char*>(x)[i];  // load: 1 request, 1 sector
  reinterpret_cast<char*>(y)[i] = v;             // store: 1 request, 1 sector
}
KERNEL(shorts) {
  I;
  const short v = reinterpret_cast<short*>(x)[i];  // load: 1 request, 2 sectors
  reinterpret_cast<short*>(y)[i] = v;              // store: 1 request, 2 sectors
}
KERNEL(doubles) {
  I;
  const double v = reinterpret_cast<double*>(x)[i];  // load: 1 request, 8 sectors
  reinterpret_cast<double*>(y)[i] = v;               // store: 1 request, 8 sectors
}
KERNEL(vectors_of_2) {
  I;
  const float2 v = reinterpret_cast<float2*>(x)[i];  // load: 1 request, 8 sectors
  reinterpret_cast<float2*>(y)[i] = v;               // store: 1 request, 8 sectors
}
KERNEL(vectors_of_4) {
  I;
  float4 v = reinterpret_cast<float4*>(x)[i];  // load: 1 request, 16 sectors
  v.x *= 2;
  v.w += v.y;
  reinterpret_cast<float4*>(y)[i] = v;  // store: 1 request, 16 sectors
}
KERNEL(every_second_vector) {
  I;
  reinterpret_cast<float4*>(y)[2 * i] = make_float4(1, 2, 3, 4);  // store: 1 request, 32 sectors
}
KERNEL(four_neighbours) {
  I;
  y[4 * i] = 1;      // store: 1 request, 16 sectors
  y[4 * i + 1] = 1;  // store: 1 request, 16 sectors
  y[4 * i + 2] = 1;  // store: 1 request, 16 sectors
  y[4 * i + 3] = 1;  // store: 1 request, 16 sectors
}
KERNEL(structures) {
  I;
  const Point* p = reinterpret_cast<Point*>(x) + i;
  y[i] = p->x + p->y + p->z;  // load: 3 requests, 36 sectors; store: 1 request, 4 sectors
}
KERNEL(two_warps_64) {
  I;
  y[i] = x[i];  // load: 2 requests, 8 sectors; store: 2 requests, 8 sectors
}
KERNEL(a_warp_and_a_half_48) {
  I;
  y[i] = x[i];  // load: 2 requests, 6 sectors; store: 2 requests, 6 sectors
}
KERNEL(many_times) {
  I;
  float sum = 0;
  for (int k = 0; k < 4; ++k) sum += x[k * 32 + i];  // load: 4 requests, 16 sectors
  y[i] = sum;                                        // store: 1 request, 4 sectors
}
KERNEL(a_column_each) {
  I;
  float sum = 0;
  for (int k = 0; k < 16; ++k) sum += x[i * 16 + k];  // load: 16 requests, 512 sectors
  y[i] = sum;                                         // store: 1 request, 4 sectors
}

// Lanes that part ---------------------------------------------------------------------------------------------------

KERNEL(guarded) {
  I;
  if (i < 20)     // part: 1
    y[i] = x[i];  // load: 1 request, 3 sectors; store: 1 request, 3 sectors
}
KERNEL(odd_lanes) {
  I;
  if (i & 1)      // part: 1
    y[i] = x[i];  // load: 1 request, 4 sectors; store: 1 request, 4 sectors
}
KERNEL(whole_warps_64) {
  I;
  if (i < 32) y[i] = x[i];  // load: 1 request, 4 sectors; store: 1 request, 4 sectors
}
KERNEL(either_way) {
  I;
  if (i & 1) {    // part: 1
    y[i] = x[i];  // load: 1 request, 4 sectors; store: 1 request, 4 sectors
  } else {
    y[2 * i] = 1;  // store: 1 request, 8 sectors
  }
  y[i + 256] = i;  // store: 1 request, 4 sectors
}
KERNEL(early_return) {
  I;
  if (i >= 16) return;  // part: 1
  y[i] = x[i];          // load: 1 request, 2 sectors; store: 1 request, 2 sectors
}
KERNEL(uneven_loop) {
  I;
  float sum = 0;
  for (int k = 0; k < i % 4; ++k) sum += x[k * 32 + i];  // load: 3 requests, 12 sectors; part: 3
  y[i] = sum;                                            // store: 1 request, 4 sectors
}
KERNEL(uneven_loop_in_a_loop) {
  I;
  float sum = 0;
  for (int a = 0; a < 3; ++a) {                                      // part: 3
    for (int k = 0; k <= i % 2; ++k) sum += x[a * 64 + k * 32 + i];  // load: 6 requests, 24 sectors
    y[a * 32 + i] = sum;                                             // store: 3 requests, 12 sectors
  }
}
__device__ float called(const float* x, int i);
KERNEL(a_call_of_some) {
  I;
  float v = 1;
  if (i & 1) v = called(x, i);  // part: 1
  y[i] = v;                     // store: 1 request, 4 sectors
}
__device__ __attribute__((noinline)) float called(const float* x, int i) {
  return x[i] * 2;  // load: 1 request, 4 sectors
}

// Shared memory: passes over 32 banks of 4 bytes ----------------------------------------------------------------------

KERNEL(neighbouring_banks) {
  I;
  __shared__ float t[32];
  t[i] = i;          // store: 1 request, 1 pass
  __syncthreads();   // barrier: 1
  y[i] = t[31 - i];  // load: 1 request, 1 pass; store: 1 request, 4 sectors
}
KERNEL(two_ways) {
  I;
  __shared__ float t[64];
  t[2 * i] = i;     // store: 1 request, 2 passes
  __syncthreads();  // barrier: 1
  y[i] = t[2 * i];  // load: 1 request, 2 passes; store: 1 request, 4 sectors
}
KERNEL(three_apart) {
  I;
  __shared__ float t[96];
  t[3 * i] = i;     // store: 1 request, 1 pass
  __syncthreads();  // barrier: 1
  y[i] = t[3 * i];  // load: 1 request, 1 pass; store: 1 request, 4 sectors
}
KERNEL(a_column) {
  I;
  __shared__ float t[32][32];
  t[i][0] = i;      // store: 1 request, 32 passes
  __syncthreads();  // barrier: 1
  y[i] = t[i][0];   // load: 1 request, 32 passes; store: 1 request, 4 sectors
}
KERNEL(a_padded_column) {
  I;
  __shared__ float t[32][33];
  t[i][0] = i;      // store: 1 request, 1 pass
  __syncthreads();  // barrier: 1
  y[i] = t[i][0];   // load: 1 request, 1 pass; store: 1 request, 4 sectors
}
KERNEL(one_word) {
  I;
  __shared__ float t[32];
  t[i] = i;         // store: 1 request, 1 pass
  __syncthreads();  // barrier: 1
  y[i] = t[5];      // load: 1 request, 1 pass; store: 1 request, 4 sectors
}
KERNEL(shared_doubles) {
  I;
  __shared__ double t[32];
  t[i] = i;          // store: 1 request, 2 passes
  __syncthreads();   // barrier: 1
  y[i] = t[31 - i];  // load: 1 request, 2 passes; store: 1 request, 4 sectors
}
KERNEL(every_second_double) {
  I;
  __shared__ double t[64];
  t[2 * i] = i;     // store: 1 request, 4 passes
  __syncthreads();  // barrier: 1
  y[i] = t[2 * i];  // load: 1 request, 4 passes; store: 1 request, 4 sectors
}
KERNEL(shared_vectors) {
  I;
  __shared__ float4 t[32];
  t[i] = make_float4(i, 0, 0, 0);               // store: 1 request, 4 passes
  __syncthreads();                              // barrier: 1
  reinterpret_cast<float4*>(y)[i] = t[31 - i];  // load: 1 request, 4 passes; store: 1 request, 16 sectors
}
KERNEL(a_doubling_loop) {
  I;
  __shared__ float t[64];
  for (int k = 1; k < 1024; k *= 2) t[2 * i] = x[k];  // load: 10 requests, 10 sectors; store: 10 requests, 20 passes
  y[i] = 1;                                           // store: 1 request, 4 sectors
}
KERNEL(a_loop_as_long_as_the_lane) {
  I;
  __shared__ float t[64];
  // Lanes 16 apart meet in a bank, as long as there are such: in 15 rounds.
  for (int k = 0; k < i; ++k)
    t[2 * i] = x[k];  // load: 31 requests, 31 sectors; store: 31 requests, 46 passes; part: 31
  y[i] = 1;           // store: 1 request, 4 sectors
}
KERNEL(shared_bytes) {
  I;
  __shared__ char t[32];
  t[i] = i;          // store: 1 request, 1 pass
  __syncthreads();   // barrier: 1
  y[i] = t[31 - i];  // load: 1 request, 1 pass; store: 1 request, 4 sectors
}
// nvcc joins a thread's neighbouring reads where they begin at a multiple of the bytes that are joined.
KERNEL(a_row_each) {
  I;
  __shared__ float t[32][32];
  float sum = 0;
  for (int k = 0; k < 32; ++k) t[k][i] = k;     // store: 32 requests, 32 passes
  __syncthreads();                              // barrier: 1
  for (int k = 0; k < 32; ++k) sum += t[i][k];  // load: 32 requests, 1024 passes, 256 joined
  y[i] = sum;                                   // store: 1 request, 4 sectors
}
KERNEL(a_row_of_34_each) {
  I;
  __shared__ float t[32][34];
  float sum = 0;
  for (int k = 0; k < 32; ++k) t[k][i] = k;     // store: 32 requests, 32 passes
  __syncthreads();                              // barrier: 1
  for (int k = 0; k < 31; ++k) sum += t[i][k];  // load: 31 requests, 62 passes, 32 joined
  y[i] = sum;                                   // store: 1 request, 4 sectors
}
KERNEL(a_row_of_33_each) {
  I;
  __shared__ float t[32][33];
  float sum = 0;
  for (int k = 0; k < 32; ++k) t[k][i] = k;     // store: 32 requests, 32 passes
  __syncthreads();                              // barrier: 1
  for (int k = 0; k < 32; ++k) sum += t[i][k];  // load: 32 requests, 32 passes, 32 joined
  y[i] = sum;                                   // store: 1 request, 4 sectors
}
KERNEL(two_rows_side_by_side) {
  I;
  __shared__ float t[64][32];
  float sum = 0;
  for (int k = 0; k < 64; ++k) t[k][i] = k;  // store: 64 requests, 64 passes
  __syncthreads();                           // barrier: 1
  for (int k = 0; k < 16; ++k) {
    sum += t[i][k]      // load: 16 requests, 512 passes, 128 joined
           * t[63][k];  // load: 16 requests, 16 passes, 16 joined
  }
  y[i] = sum;  // store: 1 request, 4 sectors
}
KERNEL(a_row_that_is_written_meanwhile) {
  I;
  __shared__ float t[32][32];
  for (int k = 0; k < 32; ++k) t[k][i] = k;  // store: 32 requests, 32 passes
  __syncthreads();                           // barrier: 1
  for (int k = 0; k < 31; ++k)
    t[i][k + 1] = t[i][k];  // load: 31 requests, 992 passes, 992 joined; store: 31 requests, 992 passes
  y[i] = 1;                 // store: 1 request, 4 sectors
}
KERNEL(two_warps_at_a_barrier_64) {
  I;
  __shared__ float t[64];
  t[i] = x[i];       // load: 2 requests, 8 sectors; store: 2 requests, 2 passes
  __syncthreads();   // barrier: 2
  y[i] = t[63 - i];  // load: 2 requests, 2 passes; store: 2 requests, 8 sectors
}

// Constant memory: turns, one for each address
// -------------------------------------------------------------------------

__constant__ float table[64];
KERNEL(one_constant) {
  I;
  y[i] = table[3];  // load: 1 request, 1 turn; store: 1 request, 4 sectors
}
KERNEL(a_constant_each) {
  I;
  y[i] = table[2 * i];  // load: 1 request, 32 turns; store: 1 request, 4 sectors
}
KERNEL(a_constant_for_four) {
  I;
  y[i] = table[i / 4];  // load: 1 request, 8 turns; store: 1 request, 4 sectors
}

// Atomics and meetings ------------------------------------------------------------------------------------------------

KERNEL(one_counter) {
  atomicAdd(reinterpret_cast<int*>(y), 1);  // atomic: 1 request, 1 sector, 31 queued
}
KERNEL(a_counter_each) {
  I;
  atomicAdd(reinterpret_cast<int*>(y) + i, 1);  // atomic: 1 request, 4 sectors, 0 queued
}
KERNEL(one_sum) {
  atomicAdd(y, 1.0f);  // atomic: 1 request, 1 sector, 31 queued
}
KERNEL(four_maxima) {
  I;
  atomicMax(reinterpret_cast<int*>(y) + i % 4, i);  // atomic: 1 request, 1 sector, 7 queued
}
KERNEL(a_shared_histogram) {
  I;
  __shared__ int h[32];
  h[i] = 0;                 // store: 1 request, 1 pass
  __syncthreads();          // barrier: 1
  atomicAdd(&h[i % 8], 1);  // atomic: 1 request, 1 pass, 3 queued
  __syncthreads();          // barrier: 1
  y[i] = h[i];              // load: 1 request, 1 pass; store: 1 request, 4 sectors
}
KERNEL(a_sum_of_a_warp) {
  I;
  float v = x[i];                     // load: 1 request, 4 sectors
  v += __shfl_down_sync(~0u, v, 16);  // meeting: 1
  v += __shfl_down_sync(~0u, v, 8);   // meeting: 1
  if (i == 0)                         // part: 1
    y[0] = v;                         // store: 1 request, 1 sector
}

extern "C" int run_all() {
  float *x, *y;
  constexpr size_t kBytes = 1 << 16;
  cudaMalloc(&x, kBytes);
  cudaMalloc(&y, kBytes);
  cudaMemset(x, 0, kBytes);
  cudaMemset(y, 0, kBytes);
  coalesced<<<1, 32>>>(x, y);
  strided_by_2<<<1, 32>>>(x, y);
  strided_by_8<<<1, 32>>>(x, y);
  strided_by_32<<<1, 32>>>(x, y);
  offset_by_1<<<1, 32>>>(x, y);
  offset_by_8<<<1, 32>>>(x, y);
  backwards<<<1, 32>>>(x, y);
  broadcast<<<1, 32>>>(x, y);
  two_values<<<1, 32>>>(x, y);
  two_places<<<1, 32>>>(x, y);
  bytes<<<1, 32>>>(x, y);
  shorts<<<1, 32>>>(x, y);
  doubles<<<1, 32>>>(x, y);
  vectors_of_2<<<1, 32>>>(x, y);
  vectors_of_4<<<1, 32>>>(x, y);
  every_second_vector<<<1, 32>>>(x, y);
  four_neighbours<<<1, 32>>>(x, y);
  structures<<<1, 32>>>(x, y);
  many_times<<<1, 32>>>(x, y);
  a_column_each<<<1, 32>>>(x, y);
  guarded<<<1, 32>>>(x, y);
  odd_lanes<<<1, 32>>>(x, y);
  either_way<<<1, 32>>>(x, y);
  early_return<<<1, 32>>>(x, y);
  uneven_loop<<<1, 32>>>(x, y);
  uneven_loop_in_a_loop<<<1, 32>>>(x, y);
  a_call_of_some<<<1, 32>>>(x, y);
  neighbouring_banks<<<1, 32>>>(x, y);
  two_ways<<<1, 32>>>(x, y);
  three_apart<<<1, 32>>>(x, y);
  a_column<<<1, 32>>>(x, y);
  a_padded_column<<<1, 32>>>(x, y);
  one_word<<<1, 32>>>(x, y);
  shared_doubles<<<1, 32>>>(x, y);
  every_second_double<<<1, 32>>>(x, y);
  shared_vectors<<<1, 32>>>(x, y);
  a_doubling_loop<<<1, 32>>>(x, y);
  a_loop_as_long_as_the_lane<<<1, 32>>>(x, y);
  shared_bytes<<<1, 32>>>(x, y);
  a_row_each<<<1, 32>>>(x, y);
  a_row_of_34_each<<<1, 32>>>(x, y);
  a_row_of_33_each<<<1, 32>>>(x, y);
  two_rows_side_by_side<<<1, 32>>>(x, y);
  a_row_that_is_written_meanwhile<<<1, 32>>>(x, y);
  one_constant<<<1, 32>>>(x, y);
  a_constant_each<<<1, 32>>>(x, y);
  a_constant_for_four<<<1, 32>>>(x, y);
  one_counter<<<1, 32>>>(x, y);
  a_counter_each<<<1, 32>>>(x, y);
  one_sum<<<1, 32>>>(x, y);
  four_maxima<<<1, 32>>>(x, y);
  a_shared_histogram<<<1, 32>>>(x, y);
  a_sum_of_a_warp<<<1, 32>>>(x, y);
  two_warps_64<<<1, 64>>>(x, y);
  a_warp_and_a_half_48<<<1, 48>>>(x, y);
  whole_warps_64<<<1, 64>>>(x, y);
  two_warps_at_a_barrier_64<<<1, 64>>>(x, y);
  const int error = cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(y);
  return error;
}

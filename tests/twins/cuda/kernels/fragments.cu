// Fragments of matrices, copies to shared memory in a pipeline, random numbers, and launches with attributes.
#include <cuda_pipeline.h>
#include <curand_kernel.h>
#include <mma.h>

using namespace nvcuda;

extern "C" int allocate(void** memory, size_t bytes) {
  const cudaError_t error = cudaMallocManaged(memory, bytes);
  return error != cudaSuccess ? error : cudaMemset(*memory, 0, bytes);
}
extern "C" int release(void* memory) { return cudaFree(memory); }

// d = 2 a b + c by one warp, with a by rows and b by columns.
template <class T, class Sum, int m, int n, int k, class Stored>
__global__ void product(const Stored* a, const Stored* b, const Sum* c, Sum* d) {
  wmma::fragment<wmma::matrix_a, m, n, k, T, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, m, n, k, T, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, m, n, k, Sum> sum;
  wmma::load_matrix_sync(left, a, k);
  wmma::load_matrix_sync(right, b, k);
  wmma::fill_fragment(sum, static_cast<Sum>(0));
  wmma::mma_sync(sum, left, right, sum);
  wmma::mma_sync(sum, left, right, sum);
  wmma::fragment<wmma::accumulator, m, n, k, Sum> other;
  wmma::load_matrix_sync(other, c, n, wmma::mem_row_major);
  for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = sum.x[i] + other.x[i];
  wmma::store_matrix_sync(d, sum, n, wmma::mem_row_major);
}

#define PRODUCT(name, T, Sum, m, n, k, Stored)                                               \
  extern "C" int name(const Stored* a, const Stored* b, const Sum* c, Sum* d, int threads) { \
    product<T, Sum, m, n, k><<<1, threads>>>(a, b, c, d);                                    \
    return cudaDeviceSynchronize();                                                          \
  }
PRODUCT(of_halves, __half, float, 16, 16, 16, __half)
PRODUCT(in_halves, __half, __half, 32, 8, 16, __half)
PRODUCT(of_bfloat16, __nv_bfloat16, float, 8, 32, 16, __nv_bfloat16)
PRODUCT(of_bytes, signed char, int, 16, 16, 16, signed char)
PRODUCT(of_tf32, wmma::precision::tf32, float, 16, 16, 8, float)
PRODUCT(of_doubles, double, double, 8, 8, 4, double)

// The second half of each row, which is not at a multiple of 32 bytes.
__global__ void trace_of_second_half(const signed char* rows, int* trace) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, int> sum;
  wmma::fill_fragment(sum, 0);
  wmma::load_matrix_sync(left, rows + 16, 32);
  wmma::load_matrix_sync(right, rows + 16, 32);
  wmma::mma_sync(sum, left, right, sum);
  wmma::store_matrix_sync(trace, sum, 16, wmma::mem_row_major);
}
extern "C" int run_trace_of_second_half(const signed char* rows, int* trace) {
  trace_of_second_half<<<1, 32>>>(rows, trace);
  return cudaDeviceSynchronize();
}

__global__ void piped(const float* from, float* to) {
  __shared__ float4 stage[2][32];
  for (int i = 0; i < 2; ++i) {
    __pipeline_memcpy_async(&stage[i][threadIdx.x], from + (i * 32 + threadIdx.x) * 4, sizeof(float4), i * 8);
    __pipeline_commit();
  }
  __pipeline_wait_prior(0);
  __syncthreads();
  const float4 other = stage[1][31 - threadIdx.x];
  to[threadIdx.x] = other.x + other.y + other.z + other.w + stage[0][31 - threadIdx.x].w;
}
extern "C" int run_piped(const float* from, float* to) {
  cudaLaunchConfig_t how = {};
  how.gridDim = 1;
  how.blockDim = 32;
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  how.attrs = &attribute;
  how.numAttrs = 1;
  if (const cudaError_t error = cudaLaunchKernelEx(&how, piped, from, to)) return error;
  return cudaDeviceSynchronize();
}
extern "C" int in_clusters(float* to) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {2, 1, 1};
  cudaLaunchConfig_t how = {2, 32, 0, nullptr, &attribute, 1};
  return cudaLaunchKernelEx(&how, piped, static_cast<const float*>(to), to);
}

template <class State>
__global__ void draw(unsigned* bits, float* normal) {
  State state;
  curand_init(1234ull, threadIdx.x, 0, &state);
  for (int i = 0; i < 5; ++i) bits[threadIdx.x * 5 + i] = curand(&state);
  curand_init(1234ull, threadIdx.x, 2, &state);
  normal[threadIdx.x * 2] = curand_normal(&state);
  normal[threadIdx.x * 2 + 1] = curand_normal(&state);
}
#define DRAW(name, State)                              \
  extern "C" int name(unsigned* bits, float* normal) { \
    draw<State><<<1, 4>>>(bits, normal);               \
    return cudaDeviceSynchronize();                    \
  }
DRAW(draw_xorwow, curandState)
DRAW(draw_mrg, curandStateMRG32k3a_t)
DRAW(draw_philox, curandStatePhilox4_32_10_t)

extern "C" int pooled(unsigned long long* threshold) {
  cudaMemPool_t pool, own;
  cudaDeviceGetDefaultMemPool(&pool, 0);
  unsigned long long kept = 1 << 20;
  cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept);
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  cudaMemPoolCreate(&own, &properties);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  int* memory;
  if (const cudaError_t error = cudaMallocFromPoolAsync(&memory, 400, own, stream)) return error;
  cudaMemsetAsync(memory, 0, 400, stream);
  cudaFreeAsync(memory, stream);
  cudaMemPoolDestroy(own);
  cudaStreamDestroy(stream);
  return cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, threshold);
}

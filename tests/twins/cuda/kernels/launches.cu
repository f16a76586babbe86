// Ways to write a kernel and to launch it; each function takes memory of the host and gives back what a kernel made.
#include <stdint.h>

#include <utility>

#include "shapes.cuh"

#define CHECKED(call) \
  if (cudaError_t error = (call)) return error
#define LAUNCH(kernel, blocks, threads, ...) kernel<<<blocks, threads>>>(__VA_ARGS__)
#define KERNEL static __global__ void

// Memory of the device with a copy of the host's, which gets the answer when it goes.
template <class T>
class Mirror {
 public:
  Mirror(T* host, size_t count) : host_(host), bytes_(count * sizeof(T)) {
    cudaMalloc(&device_, bytes_);
    cudaMemcpy(device_, host_, bytes_, cudaMemcpyHostToDevice);
  }
  ~Mirror() {
    cudaMemcpy(host_, device_, bytes_, cudaMemcpyDeviceToHost);
    cudaFree(device_);
  }
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;
  operator T*() const { return device_; }

 private:
  T* host_;
  T* device_ = nullptr;
  size_t bytes_;
};

// Three dimensions
// -----------------------------------------------------------------------------------------------------

__global__ void coordinates(int* out) {
  const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const int size = blockDim.x * blockDim.y * blockDim.z;
  int* mine = out + 7 * (block * size + thread);
  mine[0] = blockIdx.x;
  mine[1] = blockIdx.y;
  mine[2] = blockIdx.z;
  mine[3] = threadIdx.x;
  mine[4] = threadIdx.y;
  mine[5] = threadIdx.z;
  mine[6] = warpSize;
}

extern "C" int run_coordinates(int* out, size_t count, const unsigned* sizes) {
  Mirror<int> device(out, count);
  const dim3 grid(sizes[0], sizes[1], sizes[2]);
  coordinates<<<grid, {sizes[3], sizes[4], sizes[5]}>>>(device);
  return cudaGetLastError();
}

// Vector code
// ----------------------------------------------------------------------------------------------------------

template <class T>
__global__ void __launch_bounds__(256) axpy(int n, T a, const T* __restrict__ x, T* __restrict__ y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = a * x[i] + y[i];
}

template <class T>
__global__ void axpy_in_strides(int n, T a, const T* x, T* y) {
  for (int i = global_index(); i < n; i += blockDim.x * gridDim.x) y[i] = a * __ldg(&x[i]) + y[i];
}

extern "C" int run_axpy(int n, float a, float* x, float* y, int blocks) {
  Mirror<float> device_x(x, n), device_y(y, n);
  if (blocks > 0) {
    axpy_in_strides<float><<<blocks, 128>>>(n, a, device_x, device_y);
  } else {
    axpy<float><<<(n + 255) / 256, 256>>>(n, a, device_x, device_y);
  }
  return cudaDeviceSynchronize();
}

// An index that needs 64 bits where the compiler may take 32 for granted.
__global__ void far_index(unsigned long long* out, unsigned long long offset) {
  const unsigned long long i = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= offset) out[i - offset] = i;
}

extern "C" int run_far_index(unsigned long long* out, int n) {
  Mirror<unsigned long long> device(out, n);
  const unsigned blocks = (1u << 21) + 5;
  far_index<<<blocks, 1>>>(device, blocks - static_cast<unsigned long long>(n));
  return cudaGetLastError();
}

// The language
// ---------------------------------------------------------------------------------------------------------

namespace outer {
namespace inner {
template <class T, int kTimes>
struct Scale {
  __host__ __device__ T operator()(T x) const { return x * kTimes; }
};
template <class T, class F>
__global__ void map(T* x, int n, F f) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = f(x[i]);
}
}  // namespace inner
}  // namespace outer

template <class T, class... Rest>
__global__ void sum_of_all(T* out, Rest... rest) {
  if (threadIdx.x == 0) *out += (0 + ... + rest);
}

struct Pair {
  int first;
  int second[2];
};

// A parameter is each thread's own copy.
KERNEL change_parameters(int* out, Pair pair, int n) {
  pair.second[1] += threadIdx.x;
  n -= threadIdx.x;
  out[threadIdx.x] = pair.first + pair.second[1] * 100 + n * 10000;
}

__global__ void pointer_or_not(int* out, const int* maybe) { out[0] = maybe == nullptr ? 1 : *maybe; }
__global__ void pointer_or_not(float* out, const int*) { out[0] = 2; }

// A lambda without a capture sees no parameter of a kernel, and still knows its thread.
__global__ void own_lambda(int* out) {
  const auto mine = [](int base) { return base + static_cast<int>(threadIdx.x); };
  struct Local {
    __device__ int operator()() const { return blockDim.x; }
  };
  out[threadIdx.x] = mine(1000) + Local()();
}

extern "C" int run_language(int* out) {
  Mirror<int> x(out, 64);
  int* const p = x;
  outer::inner::map<int, outer::inner::Scale<int, 3>><<<1, 4>>>(p, 4, {});
  const int step = 5;
  outer::inner::map<<<1, 4>>>(p + 4, 4, [=] __host__ __device__(int i) { return i + step; });
  sum_of_all<<<1, 32>>>(p + 8, 1, short(2), 3u, 'd' - 'a');
  change_parameters<<<1, 4>>>(p + 9, Pair{1, {2, 3}}, 7);
  pointer_or_not<<<1, 1>>>(p + 13, NULL);
  pointer_or_not<<<1, 1>>>(reinterpret_cast<float*>(p + 14), nullptr);
  fill<<<dim3(1), dim3(2, 1, 1), 0, 0>>>(p + 15, 1);
  LAUNCH(fill, 1, 32, p + 16, 1, 8);
  int i = 17;
  fill<<<1, 1>>>(p + i++, 1, 9);
  fill<<<1, 1>>>(p + i, 1, i);
  void (*chosen)(int*, int, int) = i == 18 ? fill<int> : nullptr;
  chosen<<<1, 1>>>(p + 19, 1, 10);
  own_lambda<<<1, 2>>>(p + 20);
  (i > 0 ? fill<int> : chosen)<<<1, 1>>>(p + 22, 1, 11);
  return cudaGetLastError();
}

// By pointer
// -----------------------------------------------------------------------------------------------------------

extern "C" int run_by_pointer(int* out) {
  Mirror<int> x(out, 4);
  int* pointer = x;
  int count = 2, value = 5;
  void* arguments[] = {&pointer, &count, &value};
  CHECKED(cudaLaunchKernel((void*)fill<int>, dim3(1), dim3(4), arguments, 0, nullptr));
  pointer += 2;
  value = 6;
  CHECKED(cudaLaunchKernel(reinterpret_cast<const void*>(&fill<int>), 1, 4, arguments));
  pointer -= 2;
  value = 7;
  count = 1;
  void* chosen = (void*)fill<int>;
  CHECKED(cudaFuncSetSharedMemConfig(chosen, cudaSharedMemBankSizeFourByte));
  CHECKED(cudaLaunchKernel(chosen, 1, 4, arguments));
  pointer += 3;
  const void* const other = reinterpret_cast<const void*>(&::fill<int>);
  CHECKED(cudaLaunchKernel(other, 1, 4, arguments, 0, nullptr));
  int own_lambda = 3;  // a kernel has that name too
  void* const no_kernel = (void*)&own_lambda;
  return cudaLaunchKernel(no_kernel, 1, 4, arguments) == cudaErrorInvalidDeviceFunction ? cudaGetLastError() : -1;
}

// Variables
// ------------------------------------------------------------------------------------------------------------

__constant__ float coefficients[3] = {1.0f, 2.0f, 3.0f};
__device__ int calls;
__device__ __managed__ int shared_with_host = 1;
static __device__ const int kOffsets[2] = {10, 20};

__global__ void use_variables(float* out) {
  atomicAdd(&calls, 1);
  if (blockIdx.x > 0) return;
  if (threadIdx.x < 3) out[threadIdx.x] = coefficients[threadIdx.x] + kOffsets[threadIdx.x & 1];
  if (threadIdx.x == 0) shared_with_host *= 2;
}

extern "C" int run_variables(float* out, const float* given, int* counted) {
  Mirror<float> x(out, 3);
  const int none = 0;
  CHECKED(cudaMemcpyToSymbol(calls, &none, sizeof none));
  CHECKED(cudaMemcpyToSymbol(coefficients, given, 2 * sizeof(float), sizeof(float)));
  shared_with_host = 21;
  use_variables<<<2, 32>>>(x);
  CHECKED(cudaDeviceSynchronize());
  CHECKED(cudaMemcpyFromSymbol(counted, calls, sizeof(int)));
  counted[1] = shared_with_host;
  int* address;
  size_t bytes;
  CHECKED(cudaGetSymbolAddress((void**)&address, calls));
  CHECKED(cudaGetSymbolSize(&bytes, coefficients));
  CHECKED(cudaMemset(address, 0, sizeof(int)));
  CHECKED(cudaMemcpyFromSymbol(counted + 2, calls, sizeof(int)));
  counted[3] = static_cast<int>(bytes);
  return 0;
}

// Variables of functions
// ---------------------------------------------------------------------------------------------------------------

template <class T>
static __device__ T next(T by) {
  static T handed_out = 5;
  return atomicAdd(&handed_out, by);
}

static __device__ int kept_for(int thread) {
  static int kept[64], times[64];
  times[thread] += 1;
  kept[thread] += thread;
  return kept[thread] * times[thread];
}

static __host__ __device__ int of_table(int i) {
  static const int table[4] = {7, 8, 9, 10};
  return table[i % 4];
}

__global__ void use_statics(int* out) {
  static unsigned launches = 0;
  atomicAdd(&launches, 1);
  out[threadIdx.x] = kept_for(threadIdx.x) + of_table(threadIdx.x);
  atomicMax(out + 64, next(2));
  atomicMax(out + 65, static_cast<int>(next(3.0f)));
  __syncthreads();
  if (threadIdx.x == 0) out[66] = launches;
}

extern "C" int run_statics(int* out) {
  Mirror<int> device(out, 67);
  use_statics<<<1, 64>>>(device);
  use_statics<<<1, 64>>>(device);
  return cudaGetLastError();
}

// One source, two views of it
// ------------------------------------------------------------------------------------------

__host__ __device__ inline int side() {
#ifdef __CUDA_ARCH__
  return 1;
#else
  return 0;
#endif
}

__global__ void ask_architecture(int* out) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
  out[0] = side();
#elif defined(__CUDA_ARCH__)
  asm volatile("this is for older GPUs");
#else
  out[0] = -1;
#endif
#if !defined(__CUDA_ARCH__)
  asm("this neither");
#endif
}

extern "C" int run_architecture(int* out) {
#ifdef __CUDA_ARCH__
  out[1] = 1;
#else
  out[1] = 0;
#endif
  Mirror<int> x(out, 1);
  ask_architecture<<<1, 1>>>(x);
  return cudaGetLastError();
}

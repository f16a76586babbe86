// What gpu.py checks and measures, written on kernel.h.
#include <opbridge/kernel.h>

template <class T>
using Math = ob::opmath<T>;

// The shortest way to write it.
template <class T>
void scaled_add(ob::In<T> x, ob::In<T> y, ob::Out<T> out, double alpha) {
  ob::parallel_for(out.numel(), [=] OB_HOST_DEVICE(int64_t i) {
    out[i] = T(Math<T>(x[i]) + static_cast<Math<T>>(alpha) * Math<T>(y[i]));
  });
}
OB_KERNEL(scaled_add, float, double, ob::half, ob::bfloat16)

// What one load of the widest kind brings.
template <class T>
struct alignas(16) Pack {
  static constexpr int size = 16 / sizeof(T);
  T items[size];
};

template <class T>
bool is_packed(const T* data) {
  return reinterpret_cast<uintptr_t>(data) % sizeof(Pack<T>) == 0;
}

// The fastest way: 16 bytes a thread and load, which keeps enough of them under way to fill a GPU's memory bus.
template <class T>
__global__ void saxpy_packs(const T* x, const T* y, T* out, int64_t n, Math<T> alpha) {
  const int64_t first = (blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x) * Pack<T>::size;
  if (first + Pack<T>::size <= n) {
    const Pack<T> a = *reinterpret_cast<const Pack<T>*>(x + first);
    const Pack<T> b = *reinterpret_cast<const Pack<T>*>(y + first);
    Pack<T> sum;
    for (int k = 0; k < Pack<T>::size; ++k) sum.items[k] = T(Math<T>(a.items[k]) + alpha * Math<T>(b.items[k]));
    *reinterpret_cast<Pack<T>*>(out + first) = sum;
  } else {
    for (int64_t i = first; i < n; ++i) out[i] = T(Math<T>(x[i]) + alpha * Math<T>(y[i]));
  }
}

template <class T>
void saxpy(ob::Context context, ob::In<T> x, ob::In<T> y, ob::Out<T> out, double alpha) {
  if (out.numel() == 0) return;
  if (!is_packed(x.data()) || !is_packed(y.data())) return scaled_add<T>(x, y, out, alpha);
  constexpr int64_t block = 256;
  const auto blocks = static_cast<unsigned>((out.numel() - 1) / (block * Pack<T>::size) + 1);
  saxpy_packs<<<blocks, block, 0, context.stream()>>>(x.data(), y.data(), out.data(), out.numel(),
                                                      static_cast<Math<T>>(alpha));
}
OB_KERNEL(saxpy, float, double, ob::half, ob::bfloat16)

constexpr int kRowThreads = 256;

// combine(...) of what the threads of a block bring, for all of them.
template <class T, class Combine>
__device__ T over_block(T mine, Combine combine) {
  __shared__ T of_warp[kRowThreads / 32];
  for (int distance = 16; distance > 0; distance /= 2) {
    mine = combine(mine, __shfl_xor_sync(0xffffffffu, mine, distance));
  }
  __syncthreads();  // until the last call's results are read
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
  __syncthreads();
  mine = of_warp[0];
  for (int warp = 1; warp < kRowThreads / 32; ++warp) mine = combine(mine, of_warp[warp]);
  return mine;
}

template <class T>
__global__ void sum_row(ob::Accessor<const T, 2> x, ob::Accessor<T, 1> out) {
  const int64_t row = blockIdx.x, n = x.size(1);
  const T* values = &x(row, 0);
  Math<T> sum = 0;
  // Packs where the row has nothing else, which keeps the loop's loads wide.
  const bool packed = n % Pack<T>::size == 0 && reinterpret_cast<uintptr_t>(values) % sizeof(Pack<T>) == 0;
  const int64_t packs = packed ? n / Pack<T>::size : 0;
#pragma unroll 4
  for (int64_t p = threadIdx.x; p < packs; p += kRowThreads) {
    const Pack<T> pack = reinterpret_cast<const Pack<T>*>(values)[p];
    for (int k = 0; k < Pack<T>::size; ++k) sum += Math<T>(pack.items[k]);
  }
  for (int64_t i = packs * Pack<T>::size + threadIdx.x; i < n; i += kRowThreads) sum += Math<T>(values[i]);
  sum = over_block(sum, [](Math<T> a, Math<T> b) { return a + b; });
  if (threadIdx.x == 0) out(row) = T(sum);
}

template <class T>
void row_sum(ob::Context context, ob::In<T> x, ob::Out<T> out) {
  if (out.numel() == 0) return;
  if (x.numel() == 0) return ob::parallel_for(out.numel(), [=] OB_HOST_DEVICE(int64_t i) { out[i] = T(0); });
  sum_row<T><<<static_cast<unsigned>(x.size(0)), kRowThreads, 0, context.stream()>>>(x, out);
}
OB_KERNEL(row_sum, float, double, ob::half, ob::bfloat16)

template <class T>
__global__ void softmax_row(ob::Accessor<const T, 2> x, ob::Accessor<T, 2> out) {
  const int64_t row = blockIdx.x, n = x.size(1);
  Math<T> most = Math<T>(x(row, 0)), sum = 0;
  for (int64_t j = threadIdx.x; j < n; j += kRowThreads) most = max(most, Math<T>(x(row, j)));
  most = over_block(most, [](Math<T> a, Math<T> b) { return max(a, b); });
  for (int64_t j = threadIdx.x; j < n; j += kRowThreads) sum += exp(Math<T>(x(row, j)) - most);
  sum = over_block(sum, [](Math<T> a, Math<T> b) { return a + b; });
  for (int64_t j = threadIdx.x; j < n; j += kRowThreads) out(row, j) = T(exp(Math<T>(x(row, j)) - most) / sum);
}

template <class T>
void softmax(ob::Context context, ob::In<T, ob::strided> x, ob::Out<T> out) {
  if (out.numel() == 0) return;
  softmax_row<T><<<static_cast<unsigned>(x.size(0)), kRowThreads, 0, context.stream()>>>(x, out);
}
OB_KERNEL(softmax, float, double, ob::half, ob::bfloat16)

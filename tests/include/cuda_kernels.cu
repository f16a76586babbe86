// One kernel for each thing kernel.h promises in a `.cu`; test_cuda_kernels.py calls them.
#include <opbridge/cuda_half.h>

template <class T>
void scaled_add(ob::In<T> x, ob::In<T> y, ob::Out<T> out, double alpha) {
  ob::parallel_for(out.numel(), [=] OB_HOST_DEVICE(int64_t i) { out[i] = x[i] + T(alpha) * y[i]; });
}
OB_KERNEL(scaled_add, float, double, ob::half, ob::bfloat16, int32_t)

// Shape and strides come along where a `__global__` function takes an Accessor.
template <class T>
__global__ void transpose_each(ob::Accessor<const T, 2> x, ob::Accessor<T, 2> out) {
  const int64_t i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < x.size(0) && j < x.size(1)) out(j, i) = x(i, j);
}

template <class T>
void transpose(ob::Context context, ob::In<T, ob::strided> x, ob::Out<T> out) {
  const ob::Accessor<const T, 2> rows(x);
  const dim3 block(16, 16);
  const dim3 grid(static_cast<unsigned>((rows.size(1) + 15) / 16), static_cast<unsigned>((rows.size(0) + 15) / 16));
  transpose_each<T><<<grid, block, 0, context.stream()>>>(rows, out);
}
OB_KERNEL(transpose, float, double)

// Two launches, and between them memory that the host lends.
__global__ void sum_blocks(ob::In<float> x, float* partial) {
  __shared__ float sums[128];
  float sum = 0;
  for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < x.numel(); i += gridDim.x * blockDim.x) sum += x[i];
  sums[threadIdx.x] = sum;
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) partial[blockIdx.x] = sums[0];
}

__global__ void add_up(const float* partial, int n, ob::Out<float> out) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += partial[i];
  out[0] = sum;
}

void total(ob::Context context, ob::In<float> x, ob::Out<float> out) {
  constexpr int blocks = 7;
  auto* partial = ob::scratch<float>(blocks);
  sum_blocks<<<blocks, 128, 0, context.stream()>>>(x, partial);
  add_up<<<1, 1, 0, context.stream()>>>(partial, blocks, out);
}
OB_KERNEL(total)

void too_much(ob::Out<float>, int64_t n) { ob::scratch<float>(n); }
OB_KERNEL(too_much)

// A list's tensors are looked up on the host, whatever memory they have.
template <class T>
void concat(ob::List<ob::In<T>> xs, ob::Out<T> out) {
  int64_t begin = 0;
  for (const ob::In<T> x : xs) {
    ob::parallel_for(x.numel(), [=] OB_HOST_DEVICE(int64_t i) { out[begin + i] = x[i]; });
    begin += x.numel();
  }
}
OB_KERNEL(concat, float)

template <class T>
void affine(ob::In<T> x, ob::Optional<ob::In<T>> shift, ob::Out<T> out, ob::Scalar factor,
            ob::Optional<double> offset) {
  ob::parallel_for(out.numel(), [=] OB_HOST_DEVICE(int64_t i) {
    out[i] = x[i] * factor.to<T>() + (shift ? (*shift)[i] : static_cast<T>(offset.value_or(0)));
  });
}
OB_KERNEL(affine, float)

// CUDA's own functions of the 16-bit types.
template <class T>
__global__ void square_each(ob::In<T> x, ob::Out<T> out) {
  const ob::cuda_type<const T>* values = ob::to_cuda(x.data());
  const int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < out.numel()) out[i] = ob::from_cuda(__hmul(values[i], ob::to_cuda(x[i])));
}

template <class T>
cudaError_t square(ob::Context context, ob::In<T> x, ob::Out<T> out) {
  square_each<T><<<static_cast<unsigned>(x.numel() / 256 + 1), 256, 0, context.stream()>>>(x, out);
  return cudaPeekAtLastError();
}
OB_KERNEL(square, ob::half, ob::bfloat16)

void where(ob::Context context, ob::Out<int64_t> out) {
  const ob::Device device = context.device();
  ob::parallel_for(1, [=] OB_HOST_DEVICE(int64_t) {
    out[0] = device.type;
    out[1] = device.index;
  });
}
OB_KERNEL(where)

// Failures, in the order in which a call can meet them.

void checked(ob::Out<float>, int64_t device) { OB_CUDA_CHECK(cudaSetDevice(static_cast<int>(device))); }
OB_KERNEL(checked)

cudaError_t returned(ob::Out<float>) { return cudaErrorInvalidValue; }
OB_KERNEL(returned)

void launched(ob::Context context, ob::Out<float> out, int64_t threads) {
  add_up<<<1, static_cast<unsigned>(threads), 0, context.stream()>>>(nullptr, 0, out);
}
OB_KERNEL(launched)

// One element too far.

void loop_beyond(ob::Out<float> out) {
  ob::parallel_for(out.numel() + 1, [=] OB_HOST_DEVICE(int64_t i) { out[i] = 1; });
}
OB_KERNEL(loop_beyond)

__global__ void fill_each(float* values) { values[threadIdx.x] = 1; }

void scratch_beyond(ob::Context context, ob::Out<float>) {
  fill_each<<<1, 9, 0, context.stream()>>>(ob::scratch<float>(8));
}
OB_KERNEL(scratch_beyond)

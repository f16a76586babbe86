// One extension that asks for everything that CUDA extensions ask PyTorch for; tests/twins/cuda/test_torch.py runs it.
#include <ATen/AccumulateType.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/Exceptions.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/csrc/jit/serialization/pickler_helper.h>
#include <torch/extension.h>

#include <ATen/cuda/Atomic.cuh>
#include <ATen/cuda/CUDAGraphsUtils.cuh>
#include <tuple>
#include <type_traits>

namespace {

__global__ void take_seed(at::PhiloxCudaState state, int64_t* seed) {
  *seed = static_cast<int64_t>(std::get<0>(at::cuda::philox::unpack(state)));
}

template <class T>
__global__ void scale(const T* in, T* out, T factor, int64_t count) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) out[i] = in[i] * factor;
}

template <class T>
__global__ void add_up(const T* in, T* sum, int64_t count) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) gpuAtomicAdd(sum, in[i]);
}

__global__ void nothing() {}

// What a GPU adds floats up in, which is not what the CPU does.
static_assert(std::is_same_v<at::acc_type<float, true>, float> && std::is_same_v<at::acc_type<float, false>, double>);

}  // namespace

torch::Tensor scaled(torch::Tensor x, double factor, int64_t extra) {
  auto out = torch::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "scaled", ([&] {
                                    scale<scalar_t><<<4, 64, 0, at::cuda::getCurrentCUDAStream()>>>(
                                        x.data_ptr<scalar_t>(), out.mutable_data_ptr<scalar_t>(),
                                        static_cast<scalar_t>(factor), x.numel() + extra);
                                  }));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

torch::Tensor untyped(torch::Tensor x) {
  auto out = torch::empty({x.numel()}, torch::device(torch::kCUDA).dtype(torch::kFloat));
  scale<float><<<1, 64>>>(static_cast<const float*>(x.data_ptr()), (float*)out.data_ptr(), 2, x.numel());
  return out;
}

torch::Tensor total(torch::Tensor x) {
  auto sum = torch::zeros({1}, x.options());
  AT_DISPATCH_ALL_TYPES_AND2(
      at::kHalf, at::kBFloat16, x.scalar_type(), "total",
      ([&] { add_up<scalar_t><<<2, 64>>>(x.const_data_ptr<scalar_t>(), sum.data_ptr<scalar_t>(), x.numel()); }));
  return sum;
}

// The memory of a tensor that is gone by the time of the launch.
void dangling() {
  const float* memory = nullptr;
  {
    auto gone = torch::ones({1 << 20});
    memory = gone.data_ptr<float>();
  }
  auto out = torch::empty({1});
  scale<float><<<1, 1>>>(memory, out.data_ptr<float>(), 1, 1);
}

void too_many_threads() {
  nothing<<<1, 4096>>>();
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

bool says_cuda(torch::Tensor x) {
  return x.is_cuda() && x.device().is_cuda() && x.type().is_cuda() && x.device().type() == torch::kCUDA &&
         x.device().type() == c10::DeviceType::CUDA;
}

std::tuple<int, int, bool> surroundings() {
  const at::cuda::CUDAGuard device(0);
  const auto stream = c10::cuda::getStreamFromPool();
  bool changed = false;
  {
    const c10::cuda::CUDAStreamGuard guard(stream);
    changed = at::cuda::getCurrentCUDAStream() == stream && stream != c10::cuda::getDefaultCUDAStream();
  }
  stream.synchronize();
  AT_CUDA_CHECK(cudaDeviceSynchronize());
  changed = changed && at::cuda::getCurrentCUDAStream() == c10::cuda::getDefaultCUDAStream();
  return {at::cuda::warp_size(), c10::cuda::device_count(), changed};
}

// What it finds otherwise than PyTorch's documentation says.
std::string wrong_about_streams() {
  using namespace c10::cuda;
  const CUDAStream none = getDefaultCUDAStream(), one = getStreamFromPool(), two = getStreamFromPool(true);
  if (one == two || std::hash<CUDAStream>{}(one) == std::hash<CUDAStream>{}(two)) return "the pool's are one";
  {
    OptionalCUDAStreamGuard guard;
    if (guard.current_stream()) return "an empty guard has a stream";
    guard.reset_stream(one);
    if (getCurrentCUDAStream() != one || *guard.original_stream() != none) return "a guard that was reset";
    const CUDAMultiStreamGuard several({one, two});
    if (getCurrentCUDAStream() != two || two.is_capturing()) return "a guard of several";
  }
  c10::DeviceIndex device = 7;
  int count = 0;
  float from = 3, to = 0;
  C10_CUDA_CHECK(GetDevice(&device));
  C10_CUDA_CHECK(GetDeviceCount(&count));
  C10_CUDA_CHECK(MaybeSetDevice(device));
  memcpy_and_sync(&to, &from, sizeof to, cudaMemcpyHostToHost, one);
  if (device != 0 || count != 1 || to != from || !hasPrimaryContext(0)) return "the device";
  return getCurrentCUDAStream() == none ? "" : "a guard's end";
}

at::Tensor seed_of(std::optional<at::Generator> given) {
  auto* generator =
      at::get_generator_or_default<at::CUDAGeneratorImpl>(given, at::cuda::detail::getDefaultCUDAGenerator());
  const std::lock_guard<std::mutex> lock(generator->mutex_);
  at::Tensor seed = at::empty({}, at::TensorOptions(at::kCUDA).dtype(at::kLong));
  take_seed<<<1, 1, 0, at::cuda::getCurrentCUDAStream()>>>(generator->philox_cuda_state(4), seed.data_ptr<int64_t>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return seed;
}

TORCH_LIBRARY(opbridge_probe, m) { m.def("twice(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(opbridge_probe, CUDA, m) {
  m.impl("twice", [](const at::Tensor& x) { return scaled(x, 2, 0); });
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("scaled", &scaled);
  m.def("untyped", &untyped);
  m.def("total", &total);
  m.def("dangling", &dangling);
  m.def("too_many_threads", &too_many_threads);
  m.def("says_cuda", &says_cuda);
  m.def("surroundings", &surroundings);
  m.def("wrong_about_streams", &wrong_about_streams);
  m.def("seed_of", &seed_of);
}

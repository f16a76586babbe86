// The part of kernel.h for a `.cu`: CUDA errors as failures, and ob::parallel_for over the threads of a GPU.
#ifndef OPBRIDGE_CUDA_H
#define OPBRIDGE_CUDA_H

#include <opbridge/call.h>

// Ends the kernel with an error if a call of the CUDA runtime fails.
#define OB_CUDA_CHECK(...) ::ob::detail::check_cuda(__VA_ARGS__, #__VA_ARGS__ " (" OB_WHERE ")")

// The body of a `__global__` function of these headers.  The twin takes them as they are, so it is written here as its
// rewriting would have it.
#if defined(__OPBRIDGE_CUDA_TWIN__)
#define OB_GLOBAL_BODY(...)                                                             \
  {                                                                                     \
    ::opbridge_twin::launch(__PRETTY_FUNCTION__, [=] OPBRIDGE_TWIN_KERNEL __VA_ARGS__); \
  }
#else
#define OB_GLOBAL_BODY(...) __VA_ARGS__
#endif

namespace ob {
namespace [[gnu::visibility("hidden")]] detail {

OB_COLD inline void fail_cuda(cudaError_t error, const char* what) {
  const char* advice = "";
  if (error == cudaErrorNoKernelImageForDevice) {
    advice = "; the library was compiled for other GPUs than this one, whose architecture OPBRIDGE_CUDA_ARCHS can name";
  } else if (error == cudaErrorIllegalAddress || error == cudaErrorMisalignedAddress || error == cudaErrorAssert ||
             error == cudaErrorLaunchFailure) {
    advice =
        "; it may come from an earlier kernel, since launches do not wait: CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer "
        "tell which";
  }
  fail_as("%s: %s (%s)%s", what, cudaGetErrorString(error), cudaGetErrorName(error), advice);
}

inline void check_cuda(cudaError_t error, const char* what) {
  if (error != cudaSuccess) fail_cuda(error, what);
}

// Reports launch errors that CUDA knows when the kernel's host function returns.  It does not wait for the launches.
inline void check_launches() {
  const cudaError_t error = cudaGetLastError();
  // "Not ready" is an answer of cudaStreamQuery and cudaEventQuery, and no failure.
  if (error != cudaErrorNotReady) check_cuda(error, "a launch or a call of CUDA failed");
}

template <class F>
__global__ void run_each(F f, int64_t n) OB_GLOBAL_BODY({
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < n) f(i);
})

}  // namespace detail

// Calls f(i) for every i below n, each on a thread of the GPU, in the order of the caller's stream and without waiting.
// f is `[=] OB_HOST_DEVICE(int64_t i) { ... }`, which a .cpp may have as well.
template <class F>
void parallel_for(int64_t n, F f) {
  constexpr unsigned block = 256;
  constexpr int64_t most_blocks = 2147483647;
  if (n <= 0) return;
  const int64_t blocks = (n - 1) / block + 1;
  if (blocks > most_blocks) fail("ob::parallel_for over ", n, " elements, more than a grid has threads");
  void* arguments[] = {&f, &n};
  const cudaStream_t stream = detail::Frame::of("ob::parallel_for").stream();
  const dim3 grid(static_cast<unsigned>(blocks));
  detail::check_cuda(cudaLaunchKernel(detail::run_each<F>, grid, dim3(block), arguments, 0, stream),
                     "ob::parallel_for");
}

}  // namespace ob
#endif

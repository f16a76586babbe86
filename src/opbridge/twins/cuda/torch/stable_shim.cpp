// What PyTorch's stable ABI has of CUDA in its build for GPUs alone, for extensions that call it.
#include <c10/cuda/CUDAStream.h>
#include <opbridge_twin/stable_told.h>

namespace {

c10::cuda::CUDAStream named(void* stream) { return c10::cuda::CUDAStream(static_cast<cudaStream_t>(stream)); }

}  // namespace

#pragma GCC visibility push(hidden)
extern "C" {

AOTITorchError aoti_torch_get_current_cuda_stream(int32_t device, void** stream) {
  return opbridge_twin::told(
      [&] { *stream = c10::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(device)).stream(); });
}

AOTITorchError torch_set_current_cuda_stream(void* stream, int32_t) {
  return opbridge_twin::told([&] { c10::cuda::setCurrentCUDAStream(named(stream)); });
}

AOTITorchError torch_get_cuda_stream_from_pool(bool, int32_t, void** stream) {
  return opbridge_twin::told([&] { *stream = c10::cuda::getStreamFromPool().stream(); });
}

AOTITorchError torch_cuda_stream_synchronize(void* stream, int32_t) {
  return opbridge_twin::told([&] { named(stream).synchronize(); });
}

}  // extern "C"
#pragma GCC visibility pop

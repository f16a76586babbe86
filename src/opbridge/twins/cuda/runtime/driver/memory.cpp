// The driver API's memory, streams and events: those of the runtime API.
#include "cudart/memory.h"

#include <vector>

#include "cudart/streams.h"
#include "driver.h"

namespace opbridge_twin {

namespace {

template <class T>
cudaError_t fill(CUdeviceptr memory, T value, size_t count) {
  const std::vector<T> values(count, value);
  return cudaMemcpyAsync(pointer(memory), values.data(), count * sizeof(T), cudaMemcpyHostToDevice, nullptr);
}
template <class T>
cudaError_t fill_on(CUdeviceptr memory, T value, size_t count, CUstream stream) {
  return on_stream(stream, [=] { return fill(memory, value, count); });
}

// One side of a copy: an array, or memory from its first byte on.
struct Side {
  CUarray array;
  char* data;
  size_t pitch, byte, row;
  bool is_host, is_any;
};

Side side_of(CUmemorytype type, const void* host, CUdeviceptr device, CUarray array, size_t pitch, size_t byte,
             size_t row) {
  if (type == CU_MEMORYTYPE_ARRAY) return {array, nullptr, 0, byte, row, false, false};
  const bool is_host = type == CU_MEMORYTYPE_HOST;
  char* const begin = is_host ? static_cast<char*>(const_cast<void*>(host)) : static_cast<char*>(pointer(device));
  return {nullptr, begin + row * pitch + byte, pitch, byte, row, is_host, type == CU_MEMORYTYPE_UNIFIED};
}

cudaMemcpyKind kind_of(const Side& to, const Side& from) {
  if (to.is_any || from.is_any) return cudaMemcpyDefault;
  if (to.is_host) return from.is_host ? cudaMemcpyHostToHost : cudaMemcpyDeviceToHost;
  return from.is_host ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToDevice;
}

cudaError_t copy_between_arrays(const Side& to, const Side& from, size_t width, size_t height) {
  cudaChannelFormatDesc format;
  if (const cudaError_t error = cudaGetChannelDesc(&format, from.array)) return error;
  const auto texel = static_cast<size_t>(format.x + format.y + format.z + format.w) / 8;
  const cudaPos begins{from.byte / texel, from.row, 0}, ends{to.byte / texel, to.row, 0};
  const cudaMemcpy3DParms how{
      from.array, begins, {}, to.array, ends, {}, {width / texel, height, 1}, cudaMemcpyDeviceToDevice};
  return cudaMemcpy3D(&how);
}

cudaError_t copy_rows(const CUDA_MEMCPY2D& how) {
  const size_t width = how.WidthInBytes, height = how.Height;
  // A single row needs no pitch.
  const size_t to_pitch = how.dstPitch != 0 ? how.dstPitch : width + how.dstXInBytes;
  const size_t from_pitch = how.srcPitch != 0 ? how.srcPitch : width + how.srcXInBytes;
  const Side to =
      side_of(how.dstMemoryType, how.dstHost, how.dstDevice, how.dstArray, to_pitch, how.dstXInBytes, how.dstY);
  const Side from =
      side_of(how.srcMemoryType, how.srcHost, how.srcDevice, how.srcArray, from_pitch, how.srcXInBytes, how.srcY);
  const cudaMemcpyKind kind = kind_of(to, from);
  if (to.array != nullptr && from.array != nullptr) return copy_between_arrays(to, from, width, height);
  if (to.array != nullptr) {
    return cudaMemcpy2DToArray(to.array, to.byte, to.row, from.data, from.pitch, width, height, kind);
  }
  if (from.array != nullptr) {
    return cudaMemcpy2DFromArray(to.data, to.pitch, from.array, from.byte, from.row, width, height, kind);
  }
  return cudaMemcpy2D(to.data, to.pitch, from.data, from.pitch, width, height, kind);
}
cudaError_t copy_rows_on(const CUDA_MEMCPY2D& given, CUstream stream) {
  const CUDA_MEMCPY2D how = given;
  return on_stream(stream, [=] { return copy_rows(how); });
}

CUmemorytype type_of(const cudaPointerAttributes& attributes) {
  return attributes.type == cudaMemoryTypeHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

template <class T>
CUresult give(void* to, T value) {
  *static_cast<T*>(to) = value;
  return CUDA_SUCCESS;
}

CUresult attribute_of(void* value, CUpointer_attribute attribute, CUdeviceptr memory) {
  cudaPointerAttributes known;
  cudaPointerGetAttributes(&known, pointer(memory));
  const void* begin;
  size_t bytes;
  if (!find_allocation(pointer(memory), begin, bytes)) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return cuCtxGetCurrent(static_cast<CUcontext*>(value));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return give(value, type_of(known));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return give(value, memory);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return known.hostPointer == nullptr ? CUDA_ERROR_INVALID_VALUE : give(value, known.hostPointer);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return give(value, static_cast<unsigned>(known.type == cudaMemoryTypeManaged));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return give(value, known.device);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return give(value, reinterpret_cast<CUdeviceptr>(begin));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return give(value, bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return give(value, 1u);
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

}  // namespace

}  // namespace opbridge_twin

using namespace opbridge_twin;

CUresult cuMemAlloc(CUdeviceptr* memory, size_t bytes) {
  OB_TWIN_DRIVER_IS(bytes == 0 ? cudaErrorInvalidValue : cudaMalloc(pointer_to(memory), bytes));
}
CUresult cuMemAllocPitch(CUdeviceptr* memory, size_t* pitch, size_t width, size_t height, unsigned) {
  OB_TWIN_DRIVER_IS(cudaMallocPitch(pointer_to(memory), pitch, width, height));
}
CUresult cuMemAllocManaged(CUdeviceptr* memory, size_t bytes, unsigned flags) {
  OB_TWIN_DRIVER_IS(cudaMallocManaged(pointer_to(memory), bytes, flags));
}
CUresult cuMemAllocAsync(CUdeviceptr* memory, size_t bytes, CUstream stream) {
  OB_TWIN_DRIVER_IS(bytes == 0 ? cudaErrorInvalidValue : cudaMallocAsync(pointer_to(memory), bytes, stream));
}
CUresult cuMemFree(CUdeviceptr memory) { OB_TWIN_DRIVER_IS(cudaFree(pointer(memory))); }
CUresult cuMemFreeAsync(CUdeviceptr memory, CUstream stream) {
  OB_TWIN_DRIVER_IS(cudaFreeAsync(pointer(memory), stream));
}
CUresult cuMemAllocHost(void** memory, size_t bytes) { OB_TWIN_DRIVER_IS(cudaMallocHost(memory, bytes)); }
CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned flags) {
  OB_TWIN_DRIVER_IS(cudaHostAlloc(memory, bytes, flags));
}
CUresult cuMemFreeHost(void* memory) { OB_TWIN_DRIVER_IS(cudaFreeHost(memory)); }
CUresult cuMemHostRegister(void* memory, size_t bytes, unsigned flags) {
  OB_TWIN_DRIVER_IS(cudaHostRegister(memory, bytes, flags));
}
CUresult cuMemHostUnregister(void* memory) { OB_TWIN_DRIVER_IS(cudaHostUnregister(memory)); }
CUresult cuMemHostGetDevicePointer(CUdeviceptr* device, void* host, unsigned flags) {
  OB_TWIN_DRIVER_IS(cudaHostGetDevicePointer(pointer_to(device), host, flags));
}
CUresult cuMemGetInfo(size_t* available, size_t* total) { OB_TWIN_DRIVER_IS(cudaMemGetInfo(available, total)); }
CUresult cuMemGetAddressRange(CUdeviceptr* begin, size_t* bytes, CUdeviceptr memory) {
  OB_TWIN_DRIVER_CALL();
  const void* first;
  size_t size;
  if (!find_allocation(pointer(memory), first, size)) return CUDA_ERROR_NOT_FOUND;
  if (begin != nullptr) *begin = reinterpret_cast<CUdeviceptr>(first);
  if (bytes != nullptr) *bytes = size;
  return CUDA_SUCCESS;
}
CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr memory) {
  OB_TWIN_DRIVER_CALL();
  return value == nullptr ? CUDA_ERROR_INVALID_VALUE : attribute_of(value, attribute, memory);
}
CUresult cuMemAdvise(CUdeviceptr memory, size_t bytes, CUmem_advise advice, CUdevice device) {
  OB_TWIN_DRIVER_IS(cudaMemAdvise(pointer(memory), bytes, static_cast<cudaMemoryAdvise>(advice), device));
}
CUresult cuMemPrefetchAsync(CUdeviceptr memory, size_t bytes, CUdevice device, CUstream stream) {
  OB_TWIN_DRIVER_IS(cudaMemPrefetchAsync(pointer(memory), bytes, device, stream));
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  OB_TWIN_DRIVER_IS(cudaMemcpy(pointer(to), pointer(from), bytes, cudaMemcpyDefault));
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  OB_TWIN_DRIVER_IS(cudaMemcpyAsync(pointer(to), pointer(from), bytes, cudaMemcpyDefault, stream));
}
CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  OB_TWIN_DRIVER_IS(cudaMemcpy(pointer(to), from, bytes, cudaMemcpyHostToDevice));
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  OB_TWIN_DRIVER_IS(cudaMemcpyAsync(pointer(to), from, bytes, cudaMemcpyHostToDevice, stream));
}
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  OB_TWIN_DRIVER_IS(cudaMemcpy(to, pointer(from), bytes, cudaMemcpyDeviceToHost));
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  OB_TWIN_DRIVER_IS(cudaMemcpyAsync(to, pointer(from), bytes, cudaMemcpyDeviceToHost, stream));
}
CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  OB_TWIN_DRIVER_IS(cudaMemcpy(pointer(to), pointer(from), bytes, cudaMemcpyDeviceToDevice));
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  OB_TWIN_DRIVER_IS(cudaMemcpyAsync(pointer(to), pointer(from), bytes, cudaMemcpyDeviceToDevice, stream));
}
CUresult cuMemcpy2D(const CUDA_MEMCPY2D* how) {
  OB_TWIN_DRIVER_IS(how == nullptr ? cudaErrorInvalidValue : copy_rows(*how));
}
CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D* how) {
  OB_TWIN_DRIVER_IS(how == nullptr ? cudaErrorInvalidValue : copy_rows(*how));
}
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* how, CUstream stream) {
  OB_TWIN_DRIVER_IS(how == nullptr ? cudaErrorInvalidValue : copy_rows_on(*how, stream));
}
CUresult cuMemcpyHtoA(CUarray to, size_t byte, const void* from, size_t bytes) {
  OB_TWIN_DRIVER_IS(cudaMemcpyToArray(to, byte, 0, from, bytes, cudaMemcpyHostToDevice));
}
CUresult cuMemcpyAtoH(void* to, CUarray from, size_t byte, size_t bytes) {
  OB_TWIN_DRIVER_IS(cudaMemcpyFromArray(to, from, byte, 0, bytes, cudaMemcpyDeviceToHost));
}

CUresult cuMemsetD8(CUdeviceptr memory, unsigned char value, size_t count) {
  OB_TWIN_DRIVER_IS(cudaMemset(pointer(memory), value, count));
}
CUresult cuMemsetD16(CUdeviceptr memory, unsigned short value, size_t count) {
  OB_TWIN_DRIVER_IS(fill(memory, value, count));
}
CUresult cuMemsetD32(CUdeviceptr memory, unsigned value, size_t count) {
  OB_TWIN_DRIVER_IS(fill(memory, value, count));
}
CUresult cuMemsetD8Async(CUdeviceptr memory, unsigned char value, size_t count, CUstream stream) {
  OB_TWIN_DRIVER_IS(cudaMemsetAsync(pointer(memory), value, count, stream));
}
CUresult cuMemsetD16Async(CUdeviceptr memory, unsigned short value, size_t count, CUstream stream) {
  OB_TWIN_DRIVER_IS(fill_on(memory, value, count, stream));
}
CUresult cuMemsetD32Async(CUdeviceptr memory, unsigned value, size_t count, CUstream stream) {
  OB_TWIN_DRIVER_IS(fill_on(memory, value, count, stream));
}

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  OB_TWIN_DRIVER_IS(cudaStreamCreateWithFlags(stream, flags));
}
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  OB_TWIN_DRIVER_IS(cudaStreamCreateWithPriority(stream, flags, priority));
}
CUresult cuStreamDestroy(CUstream stream) { OB_TWIN_DRIVER_IS(cudaStreamDestroy(stream)); }
CUresult cuStreamSynchronize(CUstream stream) { OB_TWIN_DRIVER_IS(cudaStreamSynchronize(stream)); }
CUresult cuStreamQuery(CUstream stream) { OB_TWIN_DRIVER_IS(cudaStreamQuery(stream)); }
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  OB_TWIN_DRIVER_IS(cudaStreamWaitEvent(stream, event, flags));
}
CUresult cuStreamGetFlags(CUstream stream, unsigned* flags) { OB_TWIN_DRIVER_IS(cudaStreamGetFlags(stream, flags)); }
CUresult cuStreamGetPriority(CUstream stream, int* priority) {
  OB_TWIN_DRIVER_IS(cudaStreamGetPriority(stream, priority));
}
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  OB_TWIN_DRIVER_IS(cudaLaunchHostFunc(stream, function, data));
}
CUresult cuEventCreate(CUevent* event, unsigned flags) { OB_TWIN_DRIVER_IS(cudaEventCreateWithFlags(event, flags)); }
CUresult cuEventDestroy(CUevent event) { OB_TWIN_DRIVER_IS(cudaEventDestroy(event)); }
CUresult cuEventRecord(CUevent event, CUstream stream) { OB_TWIN_DRIVER_IS(cudaEventRecord(event, stream)); }
CUresult cuEventQuery(CUevent event) { OB_TWIN_DRIVER_IS(cudaEventQuery(event)); }
CUresult cuEventSynchronize(CUevent event) { OB_TWIN_DRIVER_IS(cudaEventSynchronize(event)); }
CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  OB_TWIN_DRIVER_IS(cudaEventElapsedTime(milliseconds, begin, end));
}

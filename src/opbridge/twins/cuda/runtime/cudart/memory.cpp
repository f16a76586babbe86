#include "memory.h"

#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "allocations.h"
#include "checks/checks.h"
#include "engine/host_guard.h"
#include "engine/sampling.h"
#include "state.h"
#include "streams.h"
#include "write_record.h"

namespace opbridge_twin {

namespace {

using checks::Space;

constexpr size_t kPitch = 512;

cudaError_t pin(void** result, size_t bytes, const char* how, const void* where) {
  OB_TWIN_REQUIRE_DEVICE();
  checks::host_waits_for_all();
  return memory().allocate(result, bytes, Space::pinned, how, where);
}

}  // namespace

}  // namespace opbridge_twin

using namespace opbridge_twin;

// What gives or takes back memory at once waits for all that runs, as GPUs do.
cudaError_t cudaMalloc(void** result, size_t bytes) {
  OB_TWIN_REQUIRE_DEVICE();
  checks::host_waits_for_all();
  open_pages();
  return memory().allocate(result, bytes, Space::device, called_as("cudaMalloc"), OB_TWIN_HERE);
}

cudaError_t cudaMallocAsync(void** result, size_t bytes, cudaStream_t stream) {
  OB_TWIN_REQUIRE_DEVICE();
  if (some_stream_is_captured() && is_captured(stream)) {
    const void* const where = OB_TWIN_HERE;
    if (const cudaError_t error = allocate_for_graph(result, bytes, "cudaMallocAsync", where)) return error;
    return take_down(stream, [memory = *result, where] { return use_in_graph(memory, "cudaMallocAsync", where); });
  }
  return memory().allocate(result, bytes, Space::device, called_as("cudaMallocAsync"), OB_TWIN_HERE);
}

cudaError_t cudaMallocManaged(void** result, size_t bytes, unsigned) {
  OB_TWIN_REQUIRE_DEVICE();
  if (bytes == 0) return noted(cudaErrorInvalidValue);
  return memory().allocate(result, bytes, Space::managed, called_as("cudaMallocManaged"), OB_TWIN_HERE);
}

cudaError_t cudaMallocPitch(void** result, size_t* pitch, size_t width, size_t height) {
  OB_TWIN_REQUIRE_DEVICE();
  if (pitch == nullptr) return noted(cudaErrorInvalidValue);
  *pitch = round_up(width, kPitch);
  return memory().allocate(result, *pitch * height, Space::device, called_as("cudaMallocPitch"), OB_TWIN_HERE);
}

cudaError_t cudaMallocHost(void** result, size_t bytes) {
  return pin(result, bytes, called_as("cudaMallocHost"), OB_TWIN_HERE);
}

cudaError_t cudaHostAlloc(void** result, size_t bytes, unsigned) {
  return pin(result, bytes, called_as("cudaHostAlloc"), OB_TWIN_HERE);
}

cudaError_t cudaFree(void* begin) {
  OB_TWIN_REQUIRE_DEVICE();
  checks::host_waits_for_all();
  return memory().free(begin, false, called_as("cudaFree"), OB_TWIN_HERE);
}

cudaError_t cudaFreeAsync(void* begin, cudaStream_t stream) {
  OB_TWIN_REQUIRE_DEVICE();
  if (some_stream_is_captured() && is_captured(stream)) {
    return take_down(stream, [=, where = OB_TWIN_HERE] { return free_in_graph(begin, "cudaFreeAsync", where); });
  }
  Allocation found;
  const char* first;
  // Others may get the memory from then on, so that it is as if the stream wrote there.
  if (memory().find(begin, found, first) && first == begin) {
    const checks::OnStream on_stream(stream);
    checks::stream_access(begin, found.bytes, true, called_as("cudaFreeAsync"), OB_TWIN_HERE);
  }
  return memory().free(begin, false, called_as("cudaFreeAsync"), OB_TWIN_HERE);
}

cudaError_t cudaFreeHost(void* begin) { return memory().free(begin, true, called_as("cudaFreeHost"), OB_TWIN_HERE); }

cudaError_t cudaHostRegister(void* begin, size_t bytes, unsigned) {
  return memory().adopt(begin, bytes, called_as("cudaHostRegister"), OB_TWIN_HERE);
}

cudaError_t cudaHostUnregister(void* begin) {
  return memory().release(begin, called_as("cudaHostUnregister"), OB_TWIN_HERE);
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  Allocation found;
  const char* begin;
  if (device == nullptr || !memory().find(host, found, begin)) return noted(cudaErrorInvalidValue);
  *device = host;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* available, size_t* total) {
  OB_TWIN_REQUIRE_DEVICE();
  if (available == nullptr || total == nullptr) return noted(cudaErrorInvalidValue);
  *available = memory().available();
  *total = total_memory();
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
  if (attributes == nullptr) return noted(cudaErrorInvalidValue);
  *attributes = {cudaMemoryTypeUnregistered, cudaInvalidDeviceId, nullptr, nullptr};
  Allocation found;
  const char* begin;
  if (!memory().find(address, found, begin)) return cudaSuccess;
  void* same = const_cast<void*>(address);
  attributes->type = found.space == Space::managed  ? cudaMemoryTypeManaged
                     : found.space == Space::pinned ? cudaMemoryTypeHost
                                                    : cudaMemoryTypeDevice;
  attributes->device = 0;
  attributes->devicePointer = same;
  attributes->hostPointer = found.space == Space::device ? nullptr : same;
  return cudaSuccess;
}

cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, int) { return cudaSuccess; }
cudaError_t cudaMemPrefetchAsync(const void*, size_t, int, cudaStream_t) { return cudaSuccess; }

void ob_twin_variable(const void* begin, size_t bytes, const char* name) {
  checks::allocated(Space::variable, begin, bytes, name, OB_TWIN_HERE);
}

void ob_twin_constant(const void* begin, size_t bytes, const char* name) {
  checks::allocated(Space::constant, begin, bytes, name, OB_TWIN_HERE);
}

void ob_twin_ask_for_symbol(const void* symbol) { checks::let_be_written(symbol); }

// For a framework whose tensors are memory of this device; what went wrong on the device does not keep it from these.
extern "C" void* ob_twin_allocate(size_t bytes, const char* how) {
  void* made = nullptr;
  memory().allocate(&made, bytes, Space::device, how, nullptr);
  return made;
}

extern "C" void ob_twin_deallocate(void* begin) { memory().free(begin, false, "a framework", nullptr); }

// What a framework's own operators have written is no more uninitialised.
extern "C" void ob_twin_written(const void* begin, size_t bytes) {
  checks::host_access(begin, bytes, true, "a framework", nullptr);
}

// Checks an access that a CUDA library makes for a program; returns 0 if the memory does not exist.
// Libraries count as kernels: if kernels do nothing, a library function fails.
extern "C" int ob_twin_library_access(const void* begin, size_t bytes, int writes, const char* how, const void* where) {
  if (kernels_do_nothing()) return 0;
  open_pages();
  if (writes != 0) library_writes(begin);
  return static_cast<int>(checks::host_access(begin, bytes, writes != 0, how, where));
}

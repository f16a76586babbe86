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

#define OB_TWIN_HERE called_from(__builtin_return_address(0))
// What reports call a function of the API, and where it was called.
#define OB_TWIN_CALL(name) called_as(name), OB_TWIN_HERE

bool is_on_device(const void* side) {
  Allocation found;
  const char* begin;
  return memory().find(side, found, begin) && found.space == Space::device;
}

// Memory that CUDA has not pinned: copies to it wait.
bool is_pageable(const void* side) {
  Allocation found;
  const char* begin;
  return !memory().find(side, found, begin);
}

// What device code copies, as references of Thrust's do, belongs to the launch that runs.
bool may_access(const void* begin, size_t bytes, bool writes, const char* how, const void* where) {
  const auto access = ob_twin_in_kernel() ? checks::host_access : checks::stream_access;
  return access(begin, bytes, writes, how, where);
}

void host_waits() {
  if (!ob_twin_in_kernel()) checks::host_waits_for_stream(nullptr);
}

// Returns whether the side of a copy that its direction declares as host memory is device memory, and reports it.
bool is_devices_after_all(const void* side, bool writes, const char* how, const void* where) {
  if (!is_on_device(side)) return false;
  checks::copied_in_another_direction(side, writes, how, where);
  return true;
}

cudaError_t copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, const char* how, const void* where) {
  OB_TWIN_REQUIRE_DEVICE();
  if (bytes == 0) return cudaSuccess;
  if (to == nullptr || from == nullptr) return noted(cudaErrorInvalidValue);
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return noted(cudaErrorInvalidMemcpyDirection);
  const bool to_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost;
  const bool from_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice;
  if ((to_host && is_devices_after_all(to, true, how, where)) ||
      (from_host && is_devices_after_all(from, false, how, where))) {
    return noted(cudaErrorInvalidValue);
  }
  if (!may_access(from, bytes, false, how, where)) return noted(cudaErrorInvalidValue);
  if (!may_access(to, bytes, true, how, where)) return noted(cudaErrorInvalidValue);
  open_pages();
  memmove(to, from, bytes);
  memory().close_to_host();
  if (is_on_device(from) != is_on_device(to)) crossed(is_on_device(from), bytes);
  if (is_pageable(to)) host_waits();
  return cudaSuccess;
}

// The host goes on when the copy is done; only where both sides are the device's, it need not wait.
cudaError_t copy_and_wait(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, const char* how,
                          const void* where) {
  const cudaError_t error = copy(to, from, bytes, kind, how, where);
  if (!is_on_device(to) || !is_on_device(from)) host_waits();
  return error;
}

cudaError_t fill(void* begin, int value, size_t bytes, const char* how, const void* where) {
  OB_TWIN_REQUIRE_DEVICE();
  if (bytes == 0) return cudaSuccess;
  if (begin == nullptr) return noted(cudaErrorInvalidValue);
  if (!may_access(begin, bytes, true, how, where)) return noted(cudaErrorInvalidValue);
  open_pages();
  memset(begin, value, bytes);
  memory().close_to_host();
  return cudaSuccess;
}

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
  return memory().allocate(result, bytes, Space::device, OB_TWIN_CALL("cudaMalloc"));
}

cudaError_t cudaMallocAsync(void** result, size_t bytes, cudaStream_t stream) {
  OB_TWIN_REQUIRE_DEVICE();
  if (some_stream_is_captured() && is_captured(stream)) {
    const void* const where = OB_TWIN_HERE;
    if (const cudaError_t error = allocate_for_graph(result, bytes, "cudaMallocAsync", where)) return error;
    return take_down(stream, [memory = *result, where] { return use_in_graph(memory, "cudaMallocAsync", where); });
  }
  return memory().allocate(result, bytes, Space::device, OB_TWIN_CALL("cudaMallocAsync"));
}

cudaError_t cudaMallocManaged(void** result, size_t bytes, unsigned) {
  OB_TWIN_REQUIRE_DEVICE();
  if (bytes == 0) return noted(cudaErrorInvalidValue);
  return memory().allocate(result, bytes, Space::managed, OB_TWIN_CALL("cudaMallocManaged"));
}

cudaError_t cudaMallocPitch(void** result, size_t* pitch, size_t width, size_t height) {
  OB_TWIN_REQUIRE_DEVICE();
  if (pitch == nullptr) return noted(cudaErrorInvalidValue);
  *pitch = round_up(width, kPitch);
  return memory().allocate(result, *pitch * height, Space::device, OB_TWIN_CALL("cudaMallocPitch"));
}

cudaError_t cudaMallocHost(void** result, size_t bytes) { return pin(result, bytes, OB_TWIN_CALL("cudaMallocHost")); }

cudaError_t cudaHostAlloc(void** result, size_t bytes, unsigned) {
  return pin(result, bytes, OB_TWIN_CALL("cudaHostAlloc"));
}

cudaError_t cudaFree(void* begin) {
  OB_TWIN_REQUIRE_DEVICE();
  checks::host_waits_for_all();
  return memory().free(begin, false, OB_TWIN_CALL("cudaFree"));
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
    checks::stream_access(begin, found.bytes, true, OB_TWIN_CALL("cudaFreeAsync"));
  }
  return memory().free(begin, false, OB_TWIN_CALL("cudaFreeAsync"));
}

cudaError_t cudaFreeHost(void* begin) { return memory().free(begin, true, OB_TWIN_CALL("cudaFreeHost")); }

cudaError_t cudaHostRegister(void* begin, size_t bytes, unsigned) {
  return memory().adopt(begin, bytes, OB_TWIN_CALL("cudaHostRegister"));
}

cudaError_t cudaHostUnregister(void* begin) { return memory().release(begin, OB_TWIN_CALL("cudaHostUnregister")); }

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

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  report_unchecked_launch();
  return copy_and_wait(to, from, bytes, kind, OB_TWIN_CALL("cudaMemcpy"));
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  const void* const where = OB_TWIN_HERE;
  return on_stream(stream, [=] { return copy(to, from, bytes, kind, "cudaMemcpyAsync", where); });
}

cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t bytes) {
  return copy(to, from, bytes, cudaMemcpyDeviceToDevice, OB_TWIN_CALL("cudaMemcpyPeer"));
}

cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, cudaStream_t stream) {
  const void* const where = OB_TWIN_HERE;
  return on_stream(stream,
                   [=] { return copy(to, from, bytes, cudaMemcpyDeviceToDevice, "cudaMemcpyPeerAsync", where); });
}

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind) {
  if (width > to_pitch || width > from_pitch) return noted(cudaErrorInvalidPitchValue);
  for (size_t row = 0; row < height; ++row) {
    const cudaError_t error =
        copy_and_wait(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, width,
                      kind, OB_TWIN_CALL("cudaMemcpy2D"));
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return on_stream(stream, [=] { return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind); });
}

cudaError_t cudaMemset(void* begin, int value, size_t bytes) {
  return fill(begin, value, bytes, OB_TWIN_CALL("cudaMemset"));
}

cudaError_t cudaMemsetAsync(void* begin, int value, size_t bytes, cudaStream_t stream) {
  const void* const where = OB_TWIN_HERE;
  return on_stream(stream, [=] { return fill(begin, value, bytes, "cudaMemsetAsync", where); });
}

cudaError_t cudaMemset2D(void* begin, size_t pitch, int value, size_t width, size_t height) {
  if (width > pitch) return noted(cudaErrorInvalidPitchValue);
  for (size_t row = 0; row < height; ++row) {
    if (const cudaError_t error =
            fill(static_cast<char*>(begin) + row * pitch, value, width, OB_TWIN_CALL("cudaMemset2D"))) {
      return error;
    }
  }
  return cudaSuccess;
}

cudaError_t cudaMemset2DAsync(void* begin, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
  return on_stream(stream, [=] { return cudaMemset2D(begin, pitch, value, width, height); });
}

cudaError_t ob_twin_copy_symbol(void* to, const void* from, size_t bytes, size_t symbol_bytes, size_t offset,
                                int to_symbol) {
  OB_TWIN_REQUIRE_DEVICE();
  if (offset > symbol_bytes || bytes > symbol_bytes - offset) return noted(cudaErrorInvalidValue);
  host_waits();
  char* target = static_cast<char*>(to) + (to_symbol ? offset : 0);
  const char* source = static_cast<const char*>(from) + (to_symbol ? 0 : offset);
  memmove(target, source, bytes);
  return cudaSuccess;
}

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

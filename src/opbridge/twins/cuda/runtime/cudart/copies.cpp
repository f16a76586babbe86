// Copies and fills of memory, from the host or in the order of a stream.
#include <string.h>

#include "allocations.h"
#include "checks/checks.h"
#include "engine/host_guard.h"
#include "memory.h"
#include "state.h"
#include "streams.h"
#include "write_record.h"

namespace opbridge_twin {

namespace {

using checks::Space;

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

}  // namespace

}  // namespace opbridge_twin

using namespace opbridge_twin;

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  report_unchecked_launch();
  return copy_and_wait(to, from, bytes, kind, called_as("cudaMemcpy"), OB_TWIN_HERE);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  const void* const where = OB_TWIN_HERE;
  return on_stream(stream, [=] { return copy(to, from, bytes, kind, "cudaMemcpyAsync", where); });
}

cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t bytes) {
  return copy(to, from, bytes, cudaMemcpyDeviceToDevice, called_as("cudaMemcpyPeer"), OB_TWIN_HERE);
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
                      kind, called_as("cudaMemcpy2D"), OB_TWIN_HERE);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return on_stream(stream, [=] { return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind); });
}

cudaError_t cudaMemset(void* begin, int value, size_t bytes) {
  return fill(begin, value, bytes, called_as("cudaMemset"), OB_TWIN_HERE);
}

cudaError_t cudaMemsetAsync(void* begin, int value, size_t bytes, cudaStream_t stream) {
  const void* const where = OB_TWIN_HERE;
  return on_stream(stream, [=] { return fill(begin, value, bytes, "cudaMemsetAsync", where); });
}

cudaError_t cudaMemset2D(void* begin, size_t pitch, int value, size_t width, size_t height) {
  if (width > pitch) return noted(cudaErrorInvalidPitchValue);
  for (size_t row = 0; row < height; ++row) {
    if (const cudaError_t error =
            fill(static_cast<char*>(begin) + row * pitch, value, width, called_as("cudaMemset2D"), OB_TWIN_HERE)) {
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

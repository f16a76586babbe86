// What the twin of the simulated device does for it; each row has an implementation, in a folder of its own.
#ifndef OPBRIDGE_TORCH_DEVICE_TWIN_H
#define OPBRIDGE_TORCH_DEVICE_TWIN_H

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>
#include <stdint.h>

#include "row.h"

#ifdef OPBRIDGE_SIMULATES_CUDA
// A piece of device memory, all of which kernels may use.
struct ob_cuda_memory {
  void* address;
  uint64_t capacity;
  uint64_t bytes;
  int32_t device;
};
#else
#include <opbridge_ascend/device.h>
#endif

namespace opbridge::simulated {

#ifdef OPBRIDGE_SIMULATES_CUDA
using Piece = ob_cuda_memory;
#else
using Piece = ob_ascend_memory;
#endif

// Null where the process has no addresses or the system no memory left.
Piece* allocate_piece(c10::DeviceIndex device, uint64_t bytes);
void free_piece(Piece* piece);
// The piece that an address, of the device or in the window, lies in; null for any other address.
Piece* find_piece(const void* address);
// Returns the device that owns the memory, of a tensor or not; -1 if no device does.
c10::DeviceIndex device_at(const void* address);
// The address on the device of an address in the window, and the other way round; others are given back as they are.
void* on_device(const void* window);
void* in_window(const void* address);

// Whether kernels do so little that memory is given out and hardly used.
bool is_memory_hollow();

// The host has written these bytes, or is to find that nobody has.
void mark_written(const void* begin, uint64_t bytes);
void mark_unwritten(void* begin, uint64_t bytes);
// Where a tensor's elements lie, gaps between them included.
void mark_written(const at::Tensor& tensor);

c10::StreamId new_stream(int priority);

// Before any kernel runs: what its checks find is for this library to tell.
void attach_to_twin();
// Throws what kernels have done wrong since it was asked last.
void throw_errors();

}  // namespace opbridge::simulated

#endif

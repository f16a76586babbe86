// The Ascend C twin's part: memory that the host sees through a window alone.
#include "../twin.h"

#include <string.h>

#include <atomic>

namespace opbridge::simulated {

Piece* allocate_piece(c10::DeviceIndex device, uint64_t bytes) { return ob_ascend_device_allocate(device, bytes); }
void free_piece(Piece* piece) { ob_ascend_device_free(piece); }
bool is_memory_hollow() { return false; }
Piece* find_piece(const void* address) { return ob_ascend_device_find(address); }
c10::DeviceIndex device_at(const void* address) {
  const Piece* const piece = find_piece(address);
  return piece == nullptr ? c10::DeviceIndex{-1} : static_cast<c10::DeviceIndex>(piece->device);
}
void* on_device(const void* window) { return ob_ascend_device_address(window); }
void* in_window(const void* address) { return ob_ascend_window(address); }

// Its kernels look at what they were given for a launch only, and throw what is wrong with it themselves.
void mark_written(const void*, uint64_t) {}
void mark_written(const at::Tensor&) {}
// Floating-point numbers become NaN, and integers -1.
void mark_unwritten(void* begin, uint64_t bytes) { memset(in_window(begin), 0xff, bytes); }
void attach_to_twin() {}
void throw_errors() {}

c10::StreamId new_stream(int) {
  static std::atomic<c10::StreamId> last{0};
  return ++last;
}

}  // namespace opbridge::simulated

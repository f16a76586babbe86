#include "memory.h"

#include <opbridge_ascend/launch.h>
#include <stdlib.h>

#include <map>
#include <mutex>
#include <shared_mutex>

#include "device.h"
#include "report.h"

namespace opbridge_ascend {
namespace {

// Pieces that do not overlap, by where they begin.
struct Allocations {
  std::shared_mutex mutex;
  std::map<const uint8_t*, Allocation> by_begin;
};

// Never destroyed: a host may release memory when it exits.
Allocations& allocations() {
  static Allocations& state = *new Allocations;
  return state;
}

}  // namespace

Allocation allocation_of(const void* address) {
  if (Allocation found = device_allocation_of(address); found.bytes > 0) return found;
  const auto* const byte = static_cast<const uint8_t*>(address);
  Allocations& state = allocations();
  const std::shared_lock<std::shared_mutex> lock(state.mutex);
  auto found = state.by_begin.upper_bound(byte);
  if (found == state.by_begin.begin()) return {};
  const Allocation& before = (--found)->second;
  return byte < before.begin + before.bytes ? before : Allocation{};
}

std::string described_outside(const void* address) {
  const auto* const byte = static_cast<const uint8_t*>(address);
  Allocations& state = allocations();
  const std::shared_lock<std::shared_mutex> lock(state.mutex);
  auto found = state.by_begin.upper_bound(byte);
  if (found == state.by_begin.begin()) return text_of(address);
  const Allocation& before = (--found)->second;
  return text_of(address) + ", " + std::to_string(byte - before.begin - static_cast<ptrdiff_t>(before.bytes)) +
         " bytes after the end of " + before.name;
}

}  // namespace opbridge_ascend

void ob_ascend_adopt(const void* begin, uint64_t bytes, const char* name) {
  if (begin == nullptr || bytes == 0) return;
  const auto* const first = static_cast<const uint8_t*>(begin);
  auto& state = opbridge_ascend::allocations();
  const std::unique_lock<std::shared_mutex> lock(state.mutex);
  state.by_begin[first] = {first, bytes, name};
}

void ob_ascend_release(const void* begin) {
  auto& state = opbridge_ascend::allocations();
  const std::unique_lock<std::shared_mutex> lock(state.mutex);
  state.by_begin.erase(static_cast<const uint8_t*>(begin));
}

void* ob_ascend_allocate(uint64_t bytes) {
  constexpr uint64_t kAlignment = 512;  // what the device's allocator promises
  const uint64_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* const memory = aligned_alloc(kAlignment, rounded > 0 ? rounded : kAlignment);
  if (memory != nullptr) ob_ascend_adopt(memory, bytes, "GmAlloc's memory");
  return memory;
}

void ob_ascend_free(void* memory) {
  ob_ascend_release(memory);
  free(memory);
}

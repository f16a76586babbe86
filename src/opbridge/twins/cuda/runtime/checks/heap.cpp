#include "heap.h"

#include <opbridge_twin/runtime.h>
#include <stdlib.h>

#include <map>
#include <mutex>
#include <new>

namespace opbridge_twin::checks {

namespace {

struct Heap {
  std::mutex guard;
  std::map<uintptr_t, size_t> pieces;
};
Heap& heap() {
  static auto& one = *new Heap;  // kernels may still be launched while the process ends
  return one;
}

void* given(void* memory, size_t bytes) {
  if (memory == nullptr || ob_twin_in_kernel() == 0) return memory;
  const std::lock_guard<std::mutex> hold(heap().guard);
  heap().pieces[reinterpret_cast<uintptr_t>(memory)] = bytes;
  return memory;
}

void* taken(void* memory) {
  if (memory == nullptr || ob_twin_in_kernel() == 0) return memory;
  const std::lock_guard<std::mutex> hold(heap().guard);
  heap().pieces.erase(reinterpret_cast<uintptr_t>(memory));
  return memory;
}

}  // namespace

Range of_heap(uintptr_t address) {
  const std::lock_guard<std::mutex> hold(heap().guard);
  auto next = heap().pieces.upper_bound(address);
  if (next == heap().pieces.begin()) return {};
  const auto [begin, bytes] = *--next;
  const Range piece(reinterpret_cast<const void*>(begin), bytes);
  return piece.holds(address) ? piece : Range();
}

}  // namespace opbridge_twin::checks

using opbridge_twin::checks::given;
using opbridge_twin::checks::taken;

// In place of the C library's and of C++'s in modules with checks, as memcpy is.
extern "C" {
void* __wrap_malloc(size_t bytes) { return given(malloc(bytes), bytes); }
void* __wrap__Znwm(size_t bytes) { return given(::operator new(bytes), bytes); }
void* __wrap__Znam(size_t bytes) { return given(::operator new[](bytes), bytes); }
void __wrap_free(void* memory) { free(taken(memory)); }
void __wrap__ZdlPv(void* memory) { ::operator delete(taken(memory)); }
void __wrap__ZdlPvm(void* memory, size_t) { ::operator delete(taken(memory)); }
void __wrap__ZdaPv(void* memory) { ::operator delete[](taken(memory)); }
void __wrap__ZdaPvm(void* memory, size_t) { ::operator delete[](taken(memory)); }
}

#include "shared_memory.h"

#include <sys/mman.h>

#include <atomic>
#include <new>

#include "checks/checks.h"

namespace opbridge_twin {

namespace {

constexpr size_t kGuardBytes = size_t{64} << 10;
constexpr size_t kDynamicAlignment = 128;
// Between two variables, so that what runs over the end of one meets nothing.
constexpr size_t kGapBytes = 64;

constexpr size_t kMappingBytes = 2 * SharedMemory::kArenaBytes + 2 * kGuardBytes;

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

unsigned new_shared_slot() {
  static std::atomic<unsigned> last{0};
  return ++last;
}

SharedMemory::~SharedMemory() {
  if (mapping_ != nullptr) munmap(mapping_, kMappingBytes);
}

void SharedMemory::begin_block(size_t dynamic_bytes) {
  if (arena_ == nullptr) {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* memory = mmap(nullptr, kMappingBytes, PROT_NONE, kFlags, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    mapping_ = static_cast<char*>(memory);
    char* arena = reinterpret_cast<char*>(round_up(reinterpret_cast<uintptr_t>(mapping_) + kGuardBytes, kArenaBytes));
    if (mprotect(arena, kArenaBytes, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    arena_ = arena;
  }
  ++block_;
  used_ = wanted_ = 0;
  dynamic_bytes_ = dynamic_bytes;
  dynamic_ = nullptr;
  // It ends where the arena ends; the memory after that is protected.
  dynamic_ = arena_ + kArenaBytes - round_up(dynamic_bytes, kDynamicAlignment);
}

void* SharedMemory::variable(unsigned slot, size_t bytes, size_t alignment, const char* name, bool checked) {
  if (slot >= slots_.size()) slots_.resize(slot + 1, Slot{nullptr, 0});
  Slot& found = slots_[slot];
  if (found.block == block_) return found.memory;
  wanted_ += bytes;
  if (wanted_ > kStaticSharedBytes || wanted_ + dynamic_bytes_ > kMostSharedBytes) return nullptr;
  const size_t begin = round_up(used_, alignment < 16 ? 16 : alignment);
  used_ = begin + bytes + kGapBytes;
  if (used_ + dynamic_bytes_ + kDynamicAlignment > kArenaBytes) return nullptr;
  found = {arena_ + begin, block_};
  if (checked) checks::shared_variable(found.memory, bytes, name);
  return found.memory;
}

}  // namespace opbridge_twin

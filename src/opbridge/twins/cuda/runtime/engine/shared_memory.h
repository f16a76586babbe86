// The __shared__ memory of a block.
#ifndef OPBRIDGE_TWIN_RUNTIME_ENGINE_SHARED_MEMORY_H
#define OPBRIDGE_TWIN_RUNTIME_ENGINE_SHARED_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include <vector>

namespace opbridge_twin {

constexpr size_t kStaticSharedBytes = size_t{48} << 10;  // of all declarations of a kernel
constexpr size_t kMostSharedBytes = size_t{163} << 10;   // with what the launch adds, for kernels that opt in

// A worker's memory for `__shared__` variables, given anew to each block that it runs.
class SharedMemory {
 public:
  SharedMemory() = default;
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  // What it held is forgotten, but not cleared.
  void begin_block(size_t dynamic_bytes);

  // The memory of one declaration; null where there is no more.
  void* variable(unsigned slot, size_t bytes, size_t alignment, const char* name, bool checked);
  void* dynamic() const { return dynamic_; }
  size_t dynamic_bytes() const { return dynamic_bytes_; }
  size_t static_bytes() const { return wanted_; }

  bool contains(const void* memory) const {
    return reinterpret_cast<uintptr_t>(memory) - reinterpret_cast<uintptr_t>(arena_) < kArenaBytes;
  }
  const char* arena() const { return arena_; }
  static constexpr size_t kArenaBytes = size_t{256} << 10;  // and so aligned, as the checks find it by that

 private:
  struct Slot {
    void* memory;
    uint64_t block;  // for which it was given out
  };

  char* mapping_ = nullptr;
  char* arena_ = nullptr;
  char* dynamic_ = nullptr;
  size_t dynamic_bytes_ = 0;
  size_t used_ = 0;
  size_t wanted_ = 0;
  uint64_t block_ = 0;
  std::vector<Slot> slots_;
};

// A number for a declaration, the same in all blocks.
unsigned new_shared_slot();

}  // namespace opbridge_twin
#endif

// Global memory: which stretches of the host's memory kernels may use.
#ifndef OPBRIDGE_ASCEND_MEMORY_H
#define OPBRIDGE_ASCEND_MEMORY_H

#include <cstdint>
#include <string>

namespace opbridge_ascend {

// A piece of global memory, and what reports call it.
struct Allocation {
  const uint8_t* begin = nullptr;
  uint64_t bytes = 0;
  std::string name;
};

// The one that an address lies in; of no bytes where nobody has told the twin of it.
Allocation allocation_of(const void* address);
// "0x…, 64 bytes after the end of out", of an address that lies in none.
std::string described_outside(const void* address);

}  // namespace opbridge_ascend
#endif

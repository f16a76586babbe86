// Lines of the scalar unit's data cache that a core has written to and not written back.
//
// Each core has such a cache, and it writes back whole lines of 64 bytes.  Where two cores have changed different bytes
// of one line, the later one writes back what it has loaded of the other's bytes, which is old.
#ifndef OPBRIDGE_ASCEND_SCALAR_CACHE_H
#define OPBRIDGE_ASCEND_SCALAR_CACHE_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace opbridge_ascend {

constexpr size_t kCacheLine = 64;

// Which bytes of a line have changed, and the instruction that changed the first of them.
struct DirtyLine {
  const uint8_t* line;
  uint64_t bytes;
  uint16_t site;
};

// The cache of one core.
class ScalarCache {
 public:
  // Lines are counted from the beginning of the memory, which on a device is at a multiple of their length.
  void write(const uint8_t* memory, const uint8_t* at, size_t bytes, uint16_t site) {
    for (size_t i = 0; i < bytes; ++i) {
      const size_t offset = static_cast<size_t>(at - memory) + i;
      const uint8_t* const line = memory + offset / kCacheLine * kCacheLine;
      const auto found = lines_.emplace(line, DirtyLine{line, 0, site}).first;
      found->second.bytes |= uint64_t{1} << offset % kCacheLine;
    }
  }
  void clean(const uint8_t* memory, const uint8_t* at) {
    lines_.erase(memory + static_cast<size_t>(at - memory) / kCacheLine * kCacheLine);
  }
  void clean() { lines_.clear(); }
  std::vector<DirtyLine> take() {
    std::vector<DirtyLine> all;
    for (const auto& [line, dirty] : lines_) all.push_back(dirty);
    lines_.clear();
    return all;
  }

 private:
  std::map<const uint8_t*, DirtyLine> lines_;
};

}  // namespace opbridge_ascend
#endif

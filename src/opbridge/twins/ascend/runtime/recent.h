// The accesses of one pipe to global memory that others may not know to be over: the newest few.
#ifndef OPBRIDGE_ASCEND_RECENT_H
#define OPBRIDGE_ASCEND_RECENT_H

#include <array>
#include <cstddef>
#include <cstdint>

namespace opbridge_ascend {

// The last accesses of a pipe to local memory, against which those of the others are held.
class Recent {
 public:
  // [begin, end), half open.
  struct Access {
    const uint8_t* begin = nullptr;
    const uint8_t* end = nullptr;
    uint32_t time = 0;  // of the pipe's own clock
    uint16_t site = 0;
    bool writes = false;

    bool overlaps(const Access& other) const { return begin < other.end && other.begin < end; }
  };

  void add(const Access& access) {
    Access& last = all_[(next_ + kMost - 1) % kMost];
    // The rows of one instruction are often contiguous.
    if (last.time == access.time && last.end == access.begin && last.writes == access.writes) {
      last.end = access.end;
      return;
    }
    all_[next_] = access;
    next_ = (next_ + 1) % kMost;
  }
  // The newest that is not over for who knows of `known` instructions, and that does not go with `now`; null for none.
  const Access* conflict(const Access& now, uint32_t known) const {
    for (size_t i = 1; i <= kMost; ++i) {
      const Access& before = all_[(next_ + kMost - i) % kMost];
      if (before.time <= known) return nullptr;
      if ((now.writes || before.writes) && before.overlaps(now)) return &before;
    }
    return nullptr;
  }
  void clear() { *this = Recent(); }

 private:
  static constexpr size_t kMost = 64;

  std::array<Access, kMost> all_;
  size_t next_ = 0;
};

}  // namespace opbridge_ascend
#endif

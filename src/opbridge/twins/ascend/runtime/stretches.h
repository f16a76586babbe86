// Stretches of memory, none of which overlap.
#ifndef OPBRIDGE_ASCEND_STRETCHES_H
#define OPBRIDGE_ASCEND_STRETCHES_H

#include <algorithm>
#include <cstdint>
#include <map>

namespace opbridge_ascend {

// Stretches with a gap between any two.
class Stretches {
 public:
  void add(const uint8_t* begin, const uint8_t* end);
  bool overlaps(const uint8_t* begin, const uint8_t* end) const;
  bool has(const uint8_t* byte) const { return overlaps(byte, byte + 1); }
  // Calls take(begin, end) for what of a stretch is here.
  template <class Take>
  void present(const uint8_t* begin, const uint8_t* end, Take take) const {
    auto one = by_begin_.upper_bound(begin);
    if (one != by_begin_.begin()) --one;
    for (; one != by_begin_.end() && one->first < end; ++one) {
      if (one->second > begin) take(std::max(begin, one->first), std::min(end, one->second));
    }
  }
  // Calls take(begin, end) for what of a stretch is not here.
  template <class Take>
  void missing(const uint8_t* begin, const uint8_t* end, Take take) const {
    auto next = by_begin_.upper_bound(begin);
    if (next != by_begin_.begin()) begin = std::max(begin, std::prev(next)->second);
    for (; begin < end; begin = std::max(begin, next->second), ++next) {
      const uint8_t* const until = next == by_begin_.end() ? end : std::min(end, next->first);
      if (begin < until) take(begin, until);
      if (next == by_begin_.end()) return;
    }
  }

 private:
  std::map<const uint8_t*, const uint8_t*> by_begin_;
};

}  // namespace opbridge_ascend
#endif

#include "stretches.h"

#include <iterator>

namespace opbridge_ascend {

void Stretches::add(const uint8_t* begin, const uint8_t* end) {
  auto next = by_begin_.upper_bound(begin);
  if (next != by_begin_.begin() && std::prev(next)->second >= begin) --next;
  while (next != by_begin_.end() && next->first <= end) {
    begin = std::min(begin, next->first);
    end = std::max(end, next->second);
    next = by_begin_.erase(next);
  }
  by_begin_.emplace(begin, end);
}

bool Stretches::overlaps(const uint8_t* begin, const uint8_t* end) const {
  const auto next = by_begin_.lower_bound(end);
  return next != by_begin_.begin() && std::prev(next)->second > begin;
}

}  // namespace opbridge_ascend

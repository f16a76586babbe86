#include "writing.h"

#include <algorithm>

#include "report.h"

namespace opbridge_ascend {

void Writing::add(size_t at, size_t bytes) {
  if (stretches == 0) {
    begin = at;
    end = at + bytes;
    first = bytes;
  } else if (stretches == 1) {
    step = at - begin;
  }
  end = std::max(end, at + bytes);
  ++stretches;
}

std::vector<std::pair<std::string, std::string>> Writing::described(const std::string& by) const {
  if (is_undefined) return {{"unknown", "since " + by + ", which leaves it undefined"}};
  if (stretches == 0) return {};
  std::string bytes = "bytes " + std::to_string(begin) + " to " + std::to_string(end - 1);
  if (stretches > 1) {
    bytes = std::to_string(stretches) + " stretches of " + std::to_string(first) + " bytes, one each " +
            std::to_string(step) + " bytes, from byte " + std::to_string(begin) + " on";
  }
  std::vector<std::pair<std::string, std::string>> details{{"written", "last by " + by + ": " + bytes}};
  if (is_masked) {
    const std::string lanes = std::to_string(mask.lanes) + " of " + std::to_string(mask.per_repeat) + " lanes";
    const bool is_set = mask.set.file != nullptr;
    details.emplace_back("mask", lanes + (is_set ? ", set at " + text_of(mask.set) : ", which nothing has set"));
  }
  return details;
}

}  // namespace opbridge_ascend

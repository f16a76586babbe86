#include "requests.h"

#include <algorithm>

namespace opbridge_twin::profile {

namespace {

int64_t stride_of(const Request& request) {
  if (request.lanes < 2) return 0;
  const uint64_t first = request.addresses[1] - request.addresses[0];
  for (unsigned i = 2; i < request.lanes; ++i) {
    if (request.addresses[i] - request.addresses[i - 1] != first) return 0;
  }
  return static_cast<int64_t>(first);
}

// Of `count` sorted values, how many are different; and how many are alike at most.
unsigned distinct(const uint64_t* values, unsigned count, uint64_t& most_alike) {
  unsigned found = 0, alike = 0;
  for (unsigned i = 0; i < count; ++i) {
    alike = i > 0 && values[i] == values[i - 1] ? alike + 1 : 1;
    found += alike == 1;
    most_alike = std::max<uint64_t>(most_alike, alike);
  }
  return found;
}

// Passes for the lanes from `begin` up to `end`, which are served together: as many as the busiest bank has words to
// give.
unsigned passes(const Request& request, unsigned begin, unsigned end) {
  uint64_t words[kLanes * 4];
  unsigned count = 0;
  for (unsigned i = 0; i < request.lanes; ++i) {
    if (request.numbers[i] < begin || request.numbers[i] >= end) continue;
    const uint64_t first = request.addresses[i] / kBankBytes;
    const uint64_t last = (request.addresses[i] + request.bytes - 1) / kBankBytes;
    for (uint64_t word = first; word <= last && count < kLanes * 4; ++word) words[count++] = word;
  }
  std::sort(words, words + count);
  count = static_cast<unsigned>(std::unique(words, words + count) - words);
  unsigned busy[kBanks] = {}, most = 0;
  for (unsigned i = 0; i < count; ++i) most = std::max(most, ++busy[words[i] % kBanks]);
  return most;
}

}  // namespace

Cost global_cost(const Request& request, uint64_t (&sectors)[kMostSectors]) {
  Cost cost;
  cost.stride = stride_of(request);
  uint64_t sorted[kLanes];
  std::copy(request.addresses, request.addresses + request.lanes, sorted);
  if (!std::is_sorted(sorted, sorted + request.lanes)) std::sort(sorted, sorted + request.lanes);
  const uint64_t bytes = uint64_t{distinct(sorted, request.lanes, cost.same_word)} * request.bytes;
  cost.least = (bytes + kSectorBytes - 1) / kSectorBytes;
  for (unsigned i = 0; i < request.lanes; ++i) {
    const uint64_t last = (sorted[i] + request.bytes - 1) / kSectorBytes;
    for (uint64_t sector = sorted[i] / kSectorBytes; sector <= last; ++sector) {
      if (cost.parts == 0 || sectors[cost.parts - 1] < sector) sectors[cost.parts++] = sector;
    }
  }
  return cost;
}

Cost shared_cost(const Request& request) {
  Cost cost;
  cost.stride = stride_of(request);
  uint64_t sorted[kLanes];
  std::copy(request.addresses, request.addresses + request.lanes, sorted);
  std::sort(sorted, sorted + request.lanes);
  distinct(sorted, request.lanes, cost.same_word);
  const unsigned together = request.bytes <= 4 ? kLanes : request.bytes <= 8 ? kLanes / 2 : kLanes / 4;
  for (unsigned begin = 0; begin < kLanes; begin += together) {
    const unsigned needed = passes(request, begin, begin + together);
    cost.parts += needed;
    cost.least += needed > 0;
  }
  return cost;
}

}  // namespace opbridge_twin::profile

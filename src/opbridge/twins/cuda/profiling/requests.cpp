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

void sort_addresses(const Request& request, uint64_t (&sorted)[kLanes]) {
  uint64_t* const end = std::copy(request.addresses, request.addresses + request.lanes, sorted);
  if (!std::is_sorted(sorted, end)) std::sort(sorted, end);
}

// Returns how many of `count` sorted values are different, and the largest number of equal ones.
unsigned distinct(const uint64_t* values, unsigned count, uint64_t& most_alike) {
  unsigned found = 0, alike = 0;
  for (unsigned i = 0; i < count; ++i) {
    alike = i > 0 && values[i] == values[i - 1] ? alike + 1 : 1;
    found += alike == 1;
    most_alike = std::max<uint64_t>(most_alike, alike);
  }
  return found;
}

// Words that lanes together ask of each bank, every one of them once.
class Banks {
 public:
  void ask(uint64_t word) {
    unsigned& count = counts_[word % kBanks];
    uint64_t* const words = words_[word % kBanks];
    if (std::find(words, words + count, word) == words + count) words[count++] = word;
    most_ = std::max(most_, count);
  }
  // The busiest bank gives its words one after the other.
  unsigned passes() const { return most_; }

 private:
  unsigned counts_[kBanks] = {};
  uint64_t words_[kBanks][kLanes];  // a lane asks a bank for one word at most
  unsigned most_ = 0;
};

// Passes for the lanes from `begin` up to `end`, which are served together.
unsigned passes(const Request& request, unsigned begin, unsigned end) {
  Banks banks;
  for (unsigned i = 0; i < request.lanes; ++i) {
    if (request.numbers[i] < begin || request.numbers[i] >= end) continue;
    const uint64_t first = request.addresses[i] / kBankBytes;
    const uint64_t last = (request.addresses[i] + request.bytes - 1) / kBankBytes;
    for (uint64_t word = first; word <= last; ++word) banks.ask(word);
  }
  return banks.passes();
}

// A GPU's usual request: neighbours at neighbouring words, or all of them at one.
bool is_one_pass(const Request& request, int64_t stride) {
  if (request.bytes != kBankBytes || request.addresses[0] % kBankBytes != 0) return false;
  return stride == static_cast<int64_t>(kBankBytes) || (stride == 0 && request.lanes == 1);
}

}  // namespace

Cost global_cost(const Request& request, uint64_t (&sectors)[kMostSectors]) {
  Cost cost;
  cost.stride = stride_of(request);
  uint64_t sorted[kLanes];
  sort_addresses(request, sorted);
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
  if (is_one_pass(request, cost.stride)) {
    cost.parts = cost.least = cost.same_word = 1;
    return cost;
  }
  uint64_t sorted[kLanes];
  sort_addresses(request, sorted);
  distinct(sorted, request.lanes, cost.same_word);
  const unsigned together = request.bytes <= 4 ? kLanes : request.bytes <= 8 ? kLanes / 2 : kLanes / 4;
  for (unsigned begin = 0; begin < kLanes; begin += together) {
    const unsigned needed = passes(request, begin, begin + together);
    cost.parts += needed;
    cost.least += needed > 0;
  }
  return cost;
}

Cost constant_cost(const Request& request) {
  Cost cost;
  cost.stride = stride_of(request);
  uint64_t sorted[kLanes];
  sort_addresses(request, sorted);
  cost.parts = distinct(sorted, request.lanes, cost.same_word);
  cost.least = 1;
  return cost;
}

}  // namespace opbridge_twin::profile

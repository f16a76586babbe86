#include "touches.h"

namespace opbridge_twin::profile {

void Touches::keep(uint64_t place, Kind kind, unsigned array, uint64_t begin, const Request& request) {
  all_.push_back({place, kind, array, warp_, request});
  Request& kept = all_.back().request;
  for (unsigned i = 0; i < kept.lanes; ++i) kept.addresses[i] -= begin;
}

void Touches::take(Touches& other, const std::vector<unsigned>& numbers) {
  for (Touch& touch : other.all_) {
    touch.array = numbers[touch.array];
    all_.push_back(touch);
  }
  other = Touches();
}

}  // namespace opbridge_twin::profile

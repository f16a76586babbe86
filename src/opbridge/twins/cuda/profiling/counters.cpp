#include "counters.h"

#include <algorithm>
#include <utility>

namespace opbridge_twin::profile {

void Count::add(const Count& other) {
  requests += other.requests;
  lanes += other.lanes;
  bytes += other.bytes;
  parts += other.parts;
  least += other.least;
  joined += other.joined;
  fresh += other.fresh;
  missed += other.missed;
  queued += other.queued;
  longest += other.longest;
  if (other.worst > worst) {
    worst = other.worst;
    worst_lanes = other.worst_lanes;
    worst_stride = other.worst_stride;
  }
  if (array == 0) array = other.array;
}

size_t Seen::slot_of(uint64_t number) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = hash(number) & mask;
  while (slots_[slot] != 0 && slots_[slot] != number) slot = (slot + 1) & mask;
  return slot;
}

bool Seen::insert(uint64_t number) {
  if (2 * used_ >= slots_.size()) grow();
  const size_t slot = slot_of(number);
  if (slots_[slot] == number) return false;
  slots_[slot] = number;
  ++used_;
  return true;
}

void Seen::grow() {
  std::vector<uint64_t> before(std::max<size_t>(1024, 2 * slots_.size()));
  before.swap(slots_);
  used_ = 0;
  for (const uint64_t number : before) {
    if (number != 0) insert(number);
  }
}

void Seen::clear() {
  slots_.clear();
  used_ = 0;
}

void Recent::begin(size_t capacity) {
  half_ = std::max<size_t>(1, capacity / 2);
  now_.clear();
  before_.clear();
}

bool Recent::misses(uint64_t number) {
  if (now_.holds(number)) return false;
  const bool is_missed = !before_.holds(number);
  if (now_.size() >= half_) {
    std::swap(now_, before_);
    now_.clear();
  }
  now_.insert(number);
  return is_missed;
}

void Counters::begin_block(size_t share) {
  for (Recent& cache : shares_) cache.begin(share);
  touched_by_warps_.clear();
}

unsigned Counters::array(const std::string& name, const void* made_at, uint64_t bytes, Kind kind) {
  const auto is_it = [&](const Array& array) {
    return array.name == name && array.made_at == made_at && array.bytes == bytes;
  };
  const auto found = std::find_if(arrays_.begin(), arrays_.end(), is_it);
  const auto number = static_cast<size_t>(found - arrays_.begin());
  if (found == arrays_.end()) arrays_.push_back({name, made_at, bytes, false, false});
  arrays_[number].is_read |= kind != Kind::store;
  arrays_[number].is_written |= kind != Kind::load;
  return static_cast<unsigned>(number + 1);
}

void Counters::take(Counters& other) {
  std::vector<unsigned> number{0};
  for (const Array& made : other.arrays_) {
    number.push_back(array(made.name, made.made_at, made.bytes, made.is_written ? Kind::store : Kind::load));
    if (made.is_read) array(made.name, made.made_at, made.bytes, Kind::load);
  }
  for (auto& [place, count] : other.places_) {
    count.array = number[count.array];
    places_[place].add(count);
  }
  touches.take(other.touches, number);
  other.places_.clear();
  for (Found& found : other.found_) found = {};
  other.arrays_.clear();
  other.touched_.clear();
}

}  // namespace opbridge_twin::profile

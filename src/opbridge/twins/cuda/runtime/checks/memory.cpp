#include "memory.h"

#include <algorithm>

#include "report.h"
#include "shadow.h"

namespace opbridge_twin::checks {

Memory& memory = *new Memory;

namespace {

// Freed memory is remembered for reports; past this many the oldest is forgotten.
constexpr size_t kMostFreed = 4096;
// So much is given cells at one time: an access in a row of them asks once.
constexpr uintptr_t kAtOnce = 16384;

uintptr_t distance(const Allocation& allocation, uintptr_t address) {
  return address < allocation.begin ? allocation.begin - address : address - allocation.end() + 1;
}

std::string number_of_bytes(size_t bytes) { return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"); }

}  // namespace

std::string Allocation::describe() const {
  const std::string size = "the " + number_of_bytes(bytes);
  switch (space) {
    case Space::variable:
    case Space::constant:
      return size + " of the variable `" + how + "`";
    case Space::adopted:
      return size + " of the tensor `" + how + "`";
    default:
      return size + " that " + how + " gave" + (made_at == nullptr ? "" : " at " + place(made_at));
  }
}

std::string Allocation::position_of(uintptr_t address) const {
  if (holds(address)) return number_of_bytes(address - begin) + " into " + describe();
  if (address < begin) return number_of_bytes(begin - address) + " before " + describe();
  return number_of_bytes(address - end()) + " after the end of " + describe();
}

void Memory::set_device_region(uintptr_t begin, size_t bytes) {
  region_begin_ = begin;
  region_bytes_ = bytes;
}

bool Memory::is_adopted(uintptr_t address) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::any_of(adopted_.begin(), adopted_.end(), [address](const Entry& entry) { return entry.holds(address); });
}

void Memory::add(const Allocation& allocation) {
  if (!cover(allocation.begin, allocation.bytes)) return;  // no memory for cells: used unchecked
  const std::lock_guard<std::mutex> lock(mutex_);
  Entry entry;
  static_cast<Allocation&>(entry) = allocation;
  // What host code may write, it writes unseen.
  const bool holds_values = allocation.space != Space::device;
  if (holds_values) entry.initialised = {{entry.begin, entry.end()}};
  has_unset_ = has_unset_ || !holds_values;
  clear_cells(entry.begin, entry.bytes);
  // The system gives addresses again: what was freed, and what went with a library that was closed.
  forget_within(allocation.begin, allocation.end(), allocation.space != Space::adopted);
  if (allocation.space == Space::adopted) {
    adopted_.push_back(std::move(entry));
    return;
  }
  owned_[allocation.begin] = std::move(entry);
}

void Memory::forget_within(uintptr_t begin, uintptr_t end, bool live_too) {
  auto at = owned_.lower_bound(begin);
  if (at != owned_.begin() && std::prev(at)->second.end() > begin) --at;
  while (at != owned_.end() && at->first < end) {
    at = live_too || at->second.freed ? owned_.erase(at) : std::next(at);
  }
}

std::pair<Memory::Free, std::optional<Allocation>> Memory::free(uintptr_t begin, const void* freed_at) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto view =
      std::find_if(adopted_.begin(), adopted_.end(), [begin](const Entry& entry) { return entry.begin == begin; });
  if (view != adopted_.end()) {
    clear_cells(view->begin, view->bytes);
    adopted_.erase(view);
    return {Free::done, std::nullopt};
  }
  auto found = owned_.upper_bound(begin);
  if (found == owned_.begin()) return {Free::unknown, std::nullopt};
  Entry& entry = (--found)->second;
  if (entry.begin != begin) {
    if (!entry.holds(begin)) return {Free::unknown, std::nullopt};
    return {entry.freed ? Free::twice : Free::not_the_start, entry};
  }
  if (entry.freed) return {Free::twice, entry};
  entry.freed = true;
  entry.freed_at = freed_at;
  clear_cells(entry.begin, entry.bytes);
  freed_.push_back(begin);
  if (freed_.size() > kMostFreed) {
    const auto oldest = owned_.find(freed_.front());
    if (oldest != owned_.end() && oldest->second.freed) owned_.erase(oldest);
    freed_.pop_front();
  }
  return {Free::done, std::nullopt};
}

Memory::Entry* Memory::entry_holding(uintptr_t address) const {
  auto after = owned_.upper_bound(address);
  if (after != owned_.begin()) {
    Entry& entry = std::prev(after)->second;
    if (entry.holds(address) && !entry.freed) return &entry;
  }
  for (Entry& entry : adopted_) {
    if (entry.holds(address)) return &entry;
  }
  return nullptr;
}

std::optional<Allocation> Memory::holding(uintptr_t address) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Entry* const entry = entry_holding(address);
  return entry == nullptr ? std::nullopt : std::optional<Allocation>(*entry);
}

std::optional<Allocation> Memory::nearest(uintptr_t address) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Allocation* best = nullptr;
  const auto consider = [&](const Allocation& candidate) {
    if (candidate.holds(address)) {
      best = &candidate;
    } else if (best == nullptr || (!best->holds(address) && distance(candidate, address) < distance(*best, address))) {
      best = &candidate;
    }
  };
  const auto after = owned_.upper_bound(address);
  if (after != owned_.begin()) consider(std::prev(after)->second);
  if (after != owned_.end()) consider(after->second);
  for (const Entry& entry : adopted_) consider(entry);
  return best == nullptr ? std::nullopt : std::optional<Allocation>(*best);
}

// The largest part around the address that all holds values, or all holds none.
Memory::Interval Memory::uniform_part(const Entry& entry, uintptr_t address, bool* holds_values) {
  uintptr_t begin = entry.begin;
  for (const Interval& interval : entry.initialised) {
    if (address < interval.first) {
      *holds_values = false;
      return {begin, interval.first};
    }
    if (address < interval.second) {
      *holds_values = true;
      return interval;
    }
    begin = interval.second;
  }
  *holds_values = false;
  return {begin, entry.end()};
}

bool Memory::admit(uintptr_t address) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Entry* const entry = entry_holding(address);
  if (entry == nullptr) return false;
  bool holds_values = false;
  const Interval part = uniform_part(*entry, address, &holds_values);
  admitted_ = true;
  const uintptr_t row = address & ~(kAtOnce - 1);
  const Cell value = entry->space == Space::constant ? kConstant : holds_values ? kFresh : kUnset;
  fill_cells(std::max(part.first, row), std::min(part.second, row + kAtOnce), value);
  return true;
}

void Memory::initialise(uintptr_t begin, size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Entry* const entry = entry_holding(begin);
  if (entry == nullptr || bytes == 0) return;
  Interval grown{begin, std::min(begin + bytes, entry->end())};
  std::vector<Interval> merged;
  for (const Interval& interval : entry->initialised) {
    if (interval.first <= grown.first && grown.second <= interval.second) return;  // nothing new
    if (interval.second < grown.first || grown.second < interval.first) {
      merged.push_back(interval);
    } else {
      grown = {std::min(grown.first, interval.first), std::max(grown.second, interval.second)};
    }
  }
  merged.insert(std::upper_bound(merged.begin(), merged.end(), grown), grown);
  entry->initialised = std::move(merged);
  clear_cells(begin, bytes);  // those that say "unset" among them
}

void Memory::let_be_written(uintptr_t address) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Entry* const entry = entry_holding(address);
  if (entry == nullptr || entry->space != Space::constant) return;
  entry->space = Space::variable;
  clear_cells(entry->begin, entry->bytes);
}

void Memory::initialise_everything() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!std::exchange(has_unset_, false)) return;
  for (auto& [begin, entry] : owned_) entry.initialised = {{entry.begin, entry.end()}};
  if (std::exchange(admitted_, false)) clear_all_cells();
}

bool Memory::first_unset_read(uintptr_t address) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Entry* const entry = entry_holding(address);
  return entry != nullptr && !std::exchange(entry->unset_read, true);
}

Memory::Left Memory::left() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  Left left;
  for (const auto& [begin, entry] : owned_) {
    if (entry.freed || entry.space != Space::device) continue;
    if (left.count++ == 0) left.first_made_at = entry.made_at;
    left.bytes += entry.bytes;
  }
  return left;
}

}  // namespace opbridge_twin::checks

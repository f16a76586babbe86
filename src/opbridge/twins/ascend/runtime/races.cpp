#include "races.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "memory.h"
#include "names.h"

namespace opbridge_ascend {
namespace {

constexpr size_t kUses = 3;
constexpr size_t kNone = ~size_t{0};

// More pairs of instructions than this are one mistake.
constexpr size_t kMostRaces = 20;

// A touch and the block it is of.
struct Mine {
  const TouchedBy* by;
  const Touch* touch;

  const Site& site() const { return by->sites[touch->site]; }
};

bool is_race(const Mine& a, const Mine& b) {
  if (a.by->core == b.by->core || a.touch->order.is_before(b.touch->order, a.by->core)) return false;
  if (b.touch->order.is_before(a.touch->order, b.by->core)) return false;
  if (a.touch->use == Use::read && b.touch->use == Use::read) return false;
  return !(a.touch->use == Use::atomic && b.touch->use == Use::atomic);
}

std::string verb(Use use) { return use == Use::read ? "reads" : use == Use::write ? "writes" : "writes by atomics"; }

Report report_of(const Mine& one, const Mine& other) {
  const auto* const begin = std::max(one.touch->begin, other.touch->begin);
  const auto* const end = std::min(one.touch->end, other.touch->end);
  const bool same = one.touch->use == other.touch->use;
  const std::string what = same ? "another block writes the same bytes, and nothing orders the two"
                                : verb(one.touch->use) + " what block " + std::to_string(other.by->block) + " " +
                                      verb(other.touch->use) + ", and nothing orders the two";
  return {Kind::global_race,
          what,
          described(one.site()),
          one.by->block,
          {{"other", described(other.site()) + ", block " + std::to_string(other.by->block)},
           {"memory", described_memory(begin, static_cast<size_t>(end - begin))}}};
}

// Goes through touches by address and keeps those that may still overlap with what comes.
class Sweep {
 public:
  // Merges accesses in the order of addresses.
  void meet(const Mine& next) {
    if (writers_.size() + readers_.size() >= close_at_) close(next);
    for (const Mine& old : writers_) check(old, next);
    if (next.touch->use == Use::read) {
      readers_.push_back(next);
      return;
    }
    for (const Mine& old : readers_) check(old, next);
    writers_.push_back(next);
  }
  bool has_enough() const { return races.reports.size() + races.of_loads.size() >= kMostRaces; }

  Races races;

 private:
  static bool is_over(const Mine& old, const Mine& next) { return old.touch->end <= next.touch->begin; }
  void close(const Mine& next) {
    for (auto* open : {&writers_, &readers_}) {
      const auto over = [&next](const Mine& old) { return is_over(old, next); };
      open->erase(std::remove_if(open->begin(), open->end(), over), open->end());
    }
    close_at_ = std::max(kFewOpen, 2 * (writers_.size() + readers_.size()));
  }
  void check(const Mine& old, const Mine& next) {
    if (!is_over(old, next) && is_race(old, next)) found(old, next);
  }
  void found(const Mine& a, const Mine& b) {
    // The report names the reader of a pair; of two writers, that of the first block.
    const bool is_a = b.touch->use != Use::read && (a.touch->use == Use::read || a.by->core < b.by->core);
    const Mine& one = is_a ? a : b;
    const Mine& other = is_a ? b : a;
    const auto key = std::make_tuple(text_of(one.site().place), text_of(other.site().place), one.touch->use);
    const bool of_load = one.touch->use == Use::read && one.site().loads_blocks;
    if (of_load) {
      races.loaded[one.by->core].add(std::max(one.touch->begin, other.touch->begin),
                                     std::min(one.touch->end, other.touch->end));
    }
    if (told_.insert(key).second) (of_load ? races.of_loads : races.reports).push_back(report_of(one, other));
  }

  static constexpr size_t kFewOpen = 64;

  std::vector<Mine> writers_, readers_;
  size_t close_at_ = kFewOpen;
  std::set<std::tuple<std::string, std::string, Use>> told_;
};

}  // namespace

void Heard::join(const Heard& other) {
  waits = std::max(waits, other.waits);
  joint = std::max(joint, other.joint);
  for (const auto& [core, epoch] : other.epochs) epochs[core] = std::max(epochs[core], epoch);
}

bool Order::is_before(const Order& other, uint32_t core) const {
  if (joint < other.joint || (!is_cube && !other.is_cube && sets < other.waits)) return true;
  if (other.heard == nullptr) return false;
  if (joint < other.heard->joint || (!is_cube && sets < other.heard->waits)) return true;
  const auto known = other.heard->epochs.find(core);
  return known != other.heard->epochs.end() && epoch < known->second;
}

std::string described_memory(const uint8_t* at, size_t bytes) {
  const std::string text = std::to_string(bytes) + " bytes at " + text_of(at);
  const Allocation memory = allocation_of(at);
  if (memory.bytes == 0) return text;
  return text + ", byte " + std::to_string(at - memory.begin) + " of the " + std::to_string(memory.bytes) +
         " bytes of " + memory.name;
}

void Touches::add(const uint8_t* at, size_t bytes, Order order, uint16_t site, Use use) {
  const size_t key = site * kUses + static_cast<size_t>(use);
  if (key >= last_.size()) last_.resize(key + kUses, kNone);
  const uint8_t* const end = at + bytes;
  if (last_[key] != kNone) {
    Touch& last = all_[last_[key]];
    if (last.order == order && at <= last.end && end >= last.begin) {
      last.begin = std::min(last.begin, at);
      last.end = std::max(last.end, end);
      return;
    }
  }
  if (all_.size() >= merge_at_) {
    merge();
    merge_at_ = std::max(kFew, 2 * all_.size());
  }
  last_[key] = all_.size();
  all_.push_back({at, end, order, site, use});
}

void Touches::merge() {
  const auto group = [](const Touch& t) {
    return std::make_tuple(t.order.waits, t.order.sets, t.order.joint, t.order.epoch, t.order.heard, t.site, t.use,
                           t.begin);
  };
  std::sort(all_.begin(), all_.end(), [&](const Touch& a, const Touch& b) { return group(a) < group(b); });
  size_t kept = 0;
  for (size_t i = 1; i < all_.size(); ++i) {
    Touch& last = all_[kept];
    const Touch& next = all_[i];
    if (next.order == last.order && next.site == last.site && next.use == last.use && next.begin <= last.end) {
      last.end = std::max(last.end, next.end);
    } else {
      all_[++kept] = next;
    }
  }
  if (!all_.empty()) all_.resize(kept + 1);
  last_.clear();
}

std::vector<Touch> Touches::take() {
  merge();
  merge_at_ = kFew;
  return std::exchange(all_, {});
}

Races find_races(const std::vector<TouchedBy>& blocks) {
  std::vector<Mine> all;
  for (const TouchedBy& by : blocks) {
    for (const Touch& touch : by.touches) all.push_back({&by, &touch});
  }
  const auto order = [](const Mine& m) { return std::make_tuple(m.touch->begin, m.by->core); };
  std::stable_sort(all.begin(), all.end(), [&](const Mine& a, const Mine& b) { return order(a) < order(b); });
  Sweep sweep;
  for (const Mine& next : all) {
    sweep.meet(next);
    if (sweep.has_enough()) break;
  }
  return std::move(sweep.races);
}

namespace {

struct LineOf {
  const TouchedBy* by;
  const DirtyLine* dirty;

  const Site& site() const { return by->sites[dirty->site]; }
};

Report report_of(const LineOf& one, const LineOf& other) {
  return {Kind::shared_line,
          "another block changes other bytes of a cache line that neither has written back",
          described(one.site()),
          one.by->block,
          {{"other", described(other.site()) + ", block " + std::to_string(other.by->block)},
           {"memory", described_memory(one.dirty->line, kCacheLine)}}};
}

}  // namespace

std::vector<Report> find_shared_lines(const std::vector<TouchedBy>& blocks) {
  std::vector<LineOf> all;
  for (const TouchedBy& by : blocks) {
    for (const DirtyLine& line : by.lines) all.push_back({&by, &line});
  }
  const auto order = [](const LineOf& l) { return std::make_tuple(l.dirty->line, l.by->block); };
  std::sort(all.begin(), all.end(), [&](const LineOf& a, const LineOf& b) { return order(a) < order(b); });
  std::vector<Report> found;
  std::set<std::pair<std::string, std::string>> told;
  for (size_t i = 1; i < all.size(); ++i) {
    const LineOf &one = all[i - 1], &other = all[i];
    // Bytes that both change are a race, which is reported.
    if (one.dirty->line != other.dirty->line || (one.dirty->bytes & other.dirty->bytes) != 0) continue;
    if (!told.emplace(text_of(one.site().place), text_of(other.site().place)).second) continue;
    found.push_back(report_of(one, other));
  }
  return found;
}

}  // namespace opbridge_ascend

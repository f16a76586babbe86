#include "warp.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "joining.h"

namespace opbridge_twin::profile {

namespace {

constexpr int kNumberBits = kPlaceBits / 2;
constexpr uint64_t kNumberMask = (uint64_t{1} << kNumberBits) - 1;

class Warp {
 public:
  Warp(unsigned warp, Lane* lanes, unsigned count, Surroundings& surroundings, Ways& ways, Counters& counters)
      : warp_(warp), surroundings_(surroundings), ways_(ways), counters_(counters), count_(count) {
    std::fill(std::begin(orders_), std::end(orders_), kNoMore);
    for (unsigned lane = 0; lane < count; ++lane) {
      begin_[lane] = at_[lane] = lanes[lane].events.data();
      end_[lane] = at_[lane] + lanes[lane].events.size();
      look_ahead(lane);
    }
  }

  void run() {
    for (uint64_t order = lowest(); order != kNoMore;) {
      const uint64_t next = step(order);
      order = next == kNoMore ? lowest() : next;
    }
  }

 private:
  void look_ahead(unsigned lane) { orders_[lane] = at_[lane] == end_[lane] ? kNoMore : at_[lane]->order; }

  uint64_t lowest() const { return *std::min_element(std::begin(orders_), std::end(orders_)); }

  unsigned lanes_at(uint64_t order) const {
    unsigned found = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane) found |= static_cast<unsigned>(orders_[lane] == order) << lane;
    return found;
  }

  // Advances all lanes at a place together.  Returns their next place if it is the same for all, and otherwise kNoMore.
  uint64_t step(uint64_t order) {
    const unsigned together = lanes_at(order);
    const auto number = static_cast<unsigned>(__builtin_popcount(together));
    uint64_t least = kNoMore, most = 0;
    const uint64_t place = place_of(order);
    const Event* events[kLanes];
    for (unsigned rest = together; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
      events[lane] = at_[lane]++;
      look_ahead(lane);
      if (kind_of(*events[lane]) == Kind::block) last_block_[lane] = place;
      least = std::min(least, orders_[lane]);
      most = std::max(most, orders_[lane]);
    }
    count(together, events, place);
    if (least == most) return number == count_ ? least : kNoMore;
    if (!have_parted_) use_ranks();
    Count& branch = counters_.at(last_block_[__builtin_ctz(together)], Kind::branch, Space::none);
    branch.come(warp_);
    branch.lanes += number;
    return kNoMore;
  }

  // Ways are looked at from where all lanes were together: that place leads into the loops.  From here on their orders
  // are | calls left | rank of the place | its number |.
  void use_ranks() {
    have_parted_ = true;
    const auto depth = [](const Event& event) { return event.order >> kPlaceBits; };
    std::vector<std::pair<uint64_t, Ways::Number>> calls;  // the depth of each that is under way, and where it is
    for (unsigned lane = 0; lane < count_; ++lane) {
      calls.clear();
      for (Event* event = begin_[lane]; event != end_[lane]; ++event) {
        while (!calls.empty() && calls.back().first < depth(*event)) calls.pop_back();
        const bool goes_on = !calls.empty() && calls.back().first == depth(*event);
        const Ways::Number here = ways_.come(goes_on ? calls.back().second : Ways::kNone, event->order);
        if (!goes_on) calls.emplace_back(depth(*event), here);
        calls.back().second = here;
        event->order = depth(*event) << kPlaceBits | here;
      }
    }
    ways_.rank_all();
    for (unsigned lane = 0; lane < count_; ++lane) {
      for (Event* event = begin_[lane]; event != end_[lane]; ++event) {
        const auto here = static_cast<Ways::Number>(event->order & kNumberMask);
        event->order |= uint64_t{ways_.rank(here) & kNumberMask} << kNumberBits;
      }
      look_ahead(lane);
    }
  }

  uint64_t place_of(uint64_t order) const {
    const uint64_t place = have_parted_ ? ways_.order(static_cast<Ways::Number>(order & kNumberMask)) : order;
    return place & kPlaceMask;
  }

  void count(unsigned lanes, const Event* const (&events)[kLanes], uint64_t place) {
    const Event& first = *events[__builtin_ctz(lanes)];
    const Kind kind = kind_of(first);
    if (kind != Kind::load && kind != Kind::store && kind != Kind::atomic) {
      Count& all = counters_.at(place, kind, Space::none);
      all.come(warp_);
      all.lanes += static_cast<unsigned>(__builtin_popcount(lanes));
      return;
    }
    Request in_shared, in_global;
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
      const uint64_t address = address_of(*events[lane]), offset = address - surroundings_.shared_begin;
      Request& request = offset < surroundings_.shared_bytes ? in_shared : in_global;
      request.bytes = std::max(request.bytes, bytes_of(*events[lane]));
      request.numbers[request.lanes] = static_cast<unsigned char>(lane);
      request.addresses[request.lanes++] = offset < surroundings_.shared_bytes ? offset : address;
    }
    if (in_shared.lanes > 0) {
      count_passes(counters_.at(place, kind, Space::shared), kind, in_shared);
      if (counters_.touches.wants(place, kind, true)) counters_.touches.keep(place, kind, 0, 0, in_shared);
    }
    if (in_global.lanes > 0) count_outside(place, kind, in_global);
  }

  void count_passes(Count& all, Kind kind, const Request& request) {
    const Cost cost = shared_cost(request);
    add(all, request, cost);
    if (kind == Kind::load) {
      joining_.read(request, all.joined);
    } else {
      all.joined += cost.parts;
      joining_.close_all();
    }
  }

  void count_outside(uint64_t place, Kind kind, Request& request) {
    const checks::Allocation* const allocation = surroundings_.holding(request.addresses[0]);
    if (allocation == nullptr) return;  // the kernel's arguments, and tables of the compiler's
    if (counters_.touches.wants(place, kind, false)) {
      counters_.touches.keep(place, kind, array_of(*allocation, kind), allocation->begin, request);
    }
    const bool is_constant = allocation->space == checks::Space::constant;
    Count& all = counters_.at(place, kind, is_constant ? Space::constant : Space::global);
    if (all.array == 0) all.array = array_of(*allocation, kind);
    if (is_constant) {
      add(all, request, constant_cost(request));
    } else {
      count_sectors(all, *allocation, request);
    }
  }

  unsigned array_of(const checks::Allocation& allocation, Kind kind) {
    return counters_.array(allocation.how, allocation.made_at, allocation.bytes, kind);
  }

  void count_sectors(Count& all, const checks::Allocation& allocation, Request& request) {
    // A GPU's allocations begin at 256 bytes; the twin's end where a page ends.
    const uint64_t shift = allocation.begin % 256;
    for (unsigned i = 0; i < request.lanes; ++i) request.addresses[i] -= shift;
    uint64_t sectors[kMostSectors];
    const Cost cost = global_cost(request, sectors);
    add(all, request, cost);
    for (uint64_t i = 0; i < cost.parts; ++i) {
      const bool is_fresh = counters_.is_first_touch(sectors[i]);
      all.fresh += is_fresh;
      all.missed += counters_.misses(warp_, sectors[i], is_fresh);
    }
  }

  void add(Count& all, const Request& request, const Cost& cost) {
    all.come(warp_);
    all.lanes += request.lanes;
    all.bytes += uint64_t{request.lanes} * request.bytes;
    all.parts += cost.parts;
    all.least += cost.least;
    all.queued += cost.same_word - 1;
    if (cost.parts > all.worst) {
      all.worst = cost.parts;
      all.worst_lanes = request.lanes;
      all.worst_stride = cost.stride;
    }
  }

  const unsigned warp_;
  Surroundings& surroundings_;
  Ways& ways_;
  Counters& counters_;
  Joining joining_;
  bool have_parted_ = false;  // and orders have become ranks
  const unsigned count_;
  Event* begin_[kLanes];
  Event* at_[kLanes];
  Event* end_[kLanes];
  uint64_t orders_[kLanes];           // of the next events; kNoMore after the last
  uint64_t last_block_[kLanes] = {};  // where the stretch of code that a lane is in begins
};

}  // namespace

const checks::Allocation* Surroundings::holding(uint64_t address) {
  for (const checks::Allocation& allocation : used) {
    if (allocation.holds(address)) return &allocation;
  }
  std::optional<checks::Allocation> found = checks::memory.holding(address);
  if (!found) return nullptr;
  used.push_back(std::move(*found));
  return &used.back();
}

void merge(unsigned warp, Lane* lanes, unsigned count, Surroundings& surroundings, Ways& ways, Counters& counters) {
  Warp(warp, lanes, count, surroundings, ways, counters).run();
  for (unsigned lane = 0; lane < count; ++lane) lanes[lane].events.clear();
}

}  // namespace opbridge_twin::profile

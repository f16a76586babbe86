// The clocks of a block's threads: what each has passed, seen and published, and so what is ordered.
#include <algorithm>
#include <memory>
#include <utility>

#include "launch.h"

namespace opbridge_twin::checks {

void Block::begin(Launch* launch, uint64_t linear) {
  launch_ = launch;
  linear_ = linear;
  const size_t threads = launch->info.block.count();
  if (threads_.size() != threads || std::exchange(any_looked_, false)) threads_.assign(threads, Thread());
  if (warps_.size() != (threads + kWarp - 1) / kWarp) {
    warps_.resize((threads + kWarp - 1) / kWarp);
    untouched_ = false;
  }
  first_run_ = run_ = launch->new_run(linear);
  reset_clocks();
  seen_at_barrier_ = most_seen_ = 0;
  for (BlockFence& fence : block_fences_) fence = {};
  some_look_ = false;
}

void Block::reset_clocks() {
  barrier_clock_ = most_clock_ = 0;
  for (BlockFence& fence : block_fences_) fence.barrier = 0;
  if (untouched_) return;
  for (Thread& thread : threads_) {
    thread.clock = 0;
    for (Fence& fence : thread.fences) fence = {};
  }
  for (Warp& warp : warps_) warp.used = false;
  untouched_ = true;
}

void Block::begin_new_run() {
  run_ = launch_->new_run(linear_);
  reset_clocks();
}

Cell Block::stamp(uint32_t thread) const {
  return run_ << kRunShift | Cell{clock(thread)} << kClockShift | Cell{thread} << kThreadShift;
}

// Thousands of meetings of lanes or fences and no barrier: what was before counts as ordered from here on, so that
// races with it are missed, and none is invented.
void Block::leave_room_for_clocks() {
  if (most_clock_ < kMostClock) return;
  for (BlockFence& fence : block_fences_) fence.at_barrier = fence.at_barrier || fence.since_barrier;
  begin_new_run();
}

void Block::barrier_passed() {
  if (std::exchange(some_look_, false)) most_seen_ = launch_->time();
  seen_at_barrier_ = most_seen_;
  if (most_clock_ > kMostClock / 2) {
    begin_new_run();
  } else {
    barrier_clock_ = ++most_clock_;
  }
  for (BlockFence& fence : block_fences_) {
    if (std::exchange(fence.since_barrier, false)) fence = {false, true, barrier_clock_};
  }
}

void Block::warp_synced(uint32_t warp, uint32_t lanes) {
  leave_room_for_clocks();
  untouched_ = false;
  Warp& state = warps_[warp];
  if (!state.used) {
    state.used = true;
    for (auto& row : state.known) row.fill(0);
  }
  share_looks(warp, lanes);
  const uint32_t first = warp * kWarp;
  LaneClocks joined{};
  for (uint32_t lane = 0; lane < kWarp; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    for (uint32_t other = 0; other < kWarp; ++other) joined[other] = std::max(joined[other], state.known[lane][other]);
  }
  for (uint32_t lane = 0; lane < kWarp && first + lane < threads(); ++lane) {
    if (lanes >> lane & 1) joined[lane] = threads_[first + lane].clock = clock(first + lane) + 1;
  }
  for (uint32_t lane = 0; lane < kWarp; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    state.known[lane] = joined;
    most_clock_ = std::max(most_clock_, joined[lane]);
  }
}

// What one lane has seen, all of them have that meet it.
void Block::share_looks(uint32_t warp, uint32_t lanes) {
  if (!any_looked_) return;
  const uint32_t first = warp * kWarp, end = std::min(first + kWarp, threads());
  for (const Look look : {Look::of_block, Look::ordered}) {
    uint64_t most = 0;
    for (uint32_t t = first; t < end; ++t) {
      if (lanes >> (t - first) & 1) most = std::max(most, seen(t, look));
    }
    for (uint32_t t = first; t < end; ++t) {
      if (lanes >> (t - first) & 1) threads_[t].seen[static_cast<size_t>(look)] = most;
    }
  }
}

void Block::fence(uint32_t thread, bool narrow) {
  leave_room_for_clocks();
  untouched_ = false;
  Thread& self = threads_[thread];
  self.clock = clock(thread) + 1;
  most_clock_ = std::max(most_clock_, self.clock);
  const Warp& warp = warps_[thread / kWarp];
  const auto known = warp.used ? std::make_shared<const LaneClocks>(warp.known[thread % kWarp]) : nullptr;
  for (int wide = 0; wide <= (narrow ? 0 : 1); ++wide) {
    self.fences[wide] = {self.clock, barrier_clock_, known};
    block_fences_[wide].since_barrier = true;
  }
  // What it has looked at before is in order from here on.
  constexpr auto kRelaxed = static_cast<size_t>(Look::relaxed), kOrdered = static_cast<size_t>(Look::ordered);
  if (narrow) return;
  self.looks[kOrdered] = self.looks[kOrdered] || self.looks[kRelaxed];
  self.seen[kOrdered] = std::max(self.seen[kOrdered], self.seen[kRelaxed]);
}

Publication Block::publication(uint32_t thread, bool narrow) const {
  const Fence& fence = threads_[thread].fences[narrow ? 0 : 1];
  const uint32_t barrier = std::max(fence.barrier, block_fences_[narrow ? 0 : 1].barrier);
  return {run_, thread, fence.clock, barrier, 0, narrow, fence.known};
}

void Block::publish(uint32_t thread, bool narrow) {
  const auto has_fence = [&](int wide) {
    return threads_[thread].fences[wide].clock != 0 || block_fences_[wide].at_barrier;
  };
  const bool tells_all = !narrow && has_fence(1);
  if (tells_all) launch_->publish(linear_, publication(thread, false));
  const bool is_later = threads_[thread].fences[0].clock != threads_[thread].fences[1].clock ||
                        block_fences_[0].barrier != block_fences_[1].barrier;
  if (has_fence(0) && (!tells_all || is_later)) launch_->publish(linear_, publication(thread, true));
}

void Block::acquire(uint32_t thread, Look look) {
  threads_[thread].looks[static_cast<size_t>(look)] = any_looked_ = true;
  some_look_ = some_look_ || look != Look::of_block;
}

uint64_t Block::seen(uint32_t thread, Look look) {
  Thread& self = threads_[thread];
  const auto kind = static_cast<size_t>(look);
  if (std::exchange(self.looks[kind], false)) {
    self.seen[kind] = launch_->time();
    if (look != Look::of_block) most_seen_ = std::max(most_seen_, self.seen[kind]);
  }
  return std::max(self.seen[kind], look == Look::of_block ? 0 : seen_at_barrier_);
}

std::optional<uint64_t> Block::block_of(Cell cell) const {
  return run_of(cell) == run_ ? linear_ : launch_->block_of(run_of(cell));
}

Order Block::ordered(Cell cell, uint64_t block, uint32_t thread) {
  const bool own = block == linear_;
  if (own) {
    if (run_of(cell) != run_ || clock_of(cell) < barrier_clock_) return Order::full;
    const auto other = static_cast<uint32_t>(thread_of(cell));
    if (other == thread) return Order::full;
    const Warp& warp = warps_[thread / kWarp];
    if (other / kWarp == thread / kWarp && warp.used && warp.known[thread % kWarp][other % kWarp] > clock_of(cell)) {
      return Order::full;
    }
  }
  const auto knows = [&](Look look) { return launch_->published(block, cell, seen(thread, look), own); };
  if (knows(Look::ordered) || (own && knows(Look::of_block))) return Order::full;
  return knows(Look::relaxed) ? Order::without_fence : Order::none;
}

}  // namespace opbridge_twin::checks

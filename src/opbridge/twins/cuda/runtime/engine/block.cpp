#include "block.h"

#include <stdio.h>
#include <string.h>

#include <utility>

#include "launch.h"
#include "profile.h"

namespace opbridge_twin {

void Block::begin(const Launch& launch, uint64_t linear_index) {
  const ob_twin_dim grid = launch.grid, block = launch.block;
  const unsigned row = static_cast<unsigned>(linear_index / grid.x);
  view = {{static_cast<unsigned>(linear_index % grid.x), row % grid.y, row / grid.y}, block, grid, 0};
  linear = linear_index;
  count_ = block.x * block.y * block.z;
  scheduled_ = some_returned_ = false;
  launch_ = &launch;
  shared.begin_block(launch.shared_bytes);
}

void Block::begin_next() {
  ++linear;
  if (++view.index.x == view.grid.x) {
    view.index.x = 0;
    if (++view.index.y == view.grid.y) {
      view.index.y = 0;
      ++view.index.z;
    }
  }
  view.next = 0;
  scheduled_ = some_returned_ = false;
  shared.begin_block(shared.dynamic_bytes());
}

void Block::schedule() {
  scheduled_ = true;
  ended_ = at_barrier_ = at_grid_barrier_ = agreed_ = at_named_barriers_ = 0;
  memset(named_, 0, sizeof named_);
  queues_[0].clear();
  queues_[1].clear();
  memset(states_, 0, count_ * sizeof *states_);
  for (unsigned warp = 0; warp * kWarpSize < count_; ++warp) warps_[warp] = {~existing_lanes(warp), 0, 0, 0};
}

unsigned Block::existing_lanes(unsigned warp) const {
  const unsigned lanes = count_ - warp * kWarpSize;
  return lanes < kWarpSize ? ~(~0u << lanes) : ~0u;
}

void Block::settle(unsigned thread, Fiber* fiber) {
  if (!scheduled_) schedule();
  for (unsigned t = loop_first_; t < thread; ++t) mark_ended(t);
  states_[thread] = State::runs;
  threads_[thread].fiber = fiber;
  view.next = thread + 1;
  if (loop_first_ < thread) after_ends(warp_of(loop_first_), warp_of(thread - 1));
}

void Block::end_loop() {
  const unsigned first = loop_first_;
  view.next = count_;
  if (!scheduled_ || first == count_) return;
  for (unsigned t = first; t < count_; ++t) mark_ended(t);
  after_ends(warp_of(first), warp_of(count_ - 1));
}

void Block::end(unsigned thread) {
  mark_ended(thread);
  after_ends(warp_of(thread), warp_of(thread));
}

void Block::mark_ended(unsigned thread) {
  states_[thread] = State::ended;
  warps_[warp_of(thread)].ended |= bit_of(thread);
  ++ended_;
}

// Nobody waits for a thread that has left the kernel.
void Block::after_ends(unsigned first_warp, unsigned last_warp) {
  if (at_barrier_ > 0 && at_barrier_ + ended_ == count_) finish_barrier();
  for (unsigned warp = first_warp; warp <= last_warp; ++warp) {
    for (unsigned rest = warps_[warp].meeting; rest != 0; rest &= rest - 1) {
      const unsigned lane = static_cast<unsigned>(__builtin_ctz(rest));
      if (warps_[warp].meeting >> lane & 1) finish_meeting(warp * kWarpSize + lane, false);
    }
    finish_converging(warp, 0);
  }
}

unsigned Block::next_ready() {
  const unsigned thread = ready_->pop();
  states_[thread] = State::runs;
  return thread;
}

void Block::wait(unsigned thread, State state, const char* what, const void* where) {
  states_[thread] = state;
  threads_[thread].what = what;
  threads_[thread].where = where;
}

bool Block::arrive_at_barrier(unsigned thread, int predicate, const void* where) {
  if (at_barrier_ == 0) {
    barrier_site_ = where;
    several_sites_ = false;
  }
  several_sites_ = several_sites_ || where != barrier_site_;
  agreed_ += predicate != 0;
  ++at_barrier_;
  wait(thread, State::at_barrier, "__syncthreads", where);
  if (at_barrier_ + ended_ == count_) {
    finish_barrier();
    states_[thread] = State::runs;
    return true;
  }
  warps_[warp_of(thread)].at_barrier |= bit_of(thread);
  barrier_->push(thread);
  finish_converging(warp_of(thread), 0);
  return false;
}

void Block::finish_barrier() {
  if (checked != nullptr) {
    if (ended_ > 0 && !all_ended_returned()) fail_left_out();
    if (ended_ > 0 && !launch_->has_noted_return.exchange(true)) checks::early_return(waiting());
    if (several_sites_) checks::barriers_meet(waiting());
    checks::barrier_passed();
    profile::barrier_passed();
  }
  vote_ = {agreed_, at_barrier_};
  agreed_ = at_barrier_ = 0;
  // All threads that have not ended are at the barrier, so none is ready.
  std::swap(ready_, barrier_);
  for (unsigned warp = 0; warp * kWarpSize < count_; ++warp) warps_[warp].at_barrier = 0;
}

// A GPU counts warps: the lanes that the last one lacks come with its last lane.
bool Block::arrive_at_named_barrier(unsigned thread, unsigned number, unsigned count, bool waits, const void* where) {
  NamedBarrier& barrier = named_[number];
  const unsigned comes = thread + 1 == count_ ? kWarpSize - lane_of(thread) : 1;
  if ((barrier.expected != 0 && barrier.expected != count) || barrier.arrived + comes > count) {
    char detail[128];
    snprintf(detail, sizeof detail, "number %u, which %u threads have come to, of %u here and of %u before", number,
             barrier.arrived + comes, count, barrier.expected);
    launch_->fail(linear, checks::Failure::divergent_barrier, detail, {{thread, where}});
  }
  barrier.expected = count;
  barrier.arrived += comes;
  const bool is_complete = barrier.arrived == count;
  if (is_complete) finish_named_barrier(number);
  if (is_complete || !waits) return true;
  wait(thread, State::at_named_barrier, "bar.sync", where);
  threads_[thread].mask = number;
  ++at_named_barriers_;
  warps_[warp_of(thread)].at_barrier |= bit_of(thread);
  finish_converging(warp_of(thread), 0);
  return false;
}

void Block::finish_named_barrier(unsigned number) {
  named_[number] = {0, 0};
  for (unsigned thread = 0; thread < count_ && at_named_barriers_ > 0; ++thread) {
    if (states_[thread] != State::at_named_barrier || threads_[thread].mask != number) continue;
    states_[thread] = State::unstarted;  // until it is its turn
    warps_[warp_of(thread)].at_barrier &= ~bit_of(thread);
    --at_named_barriers_;
    ready_->push(thread);
  }
}

bool Block::meet(unsigned thread, const Thread& wait_for) {
  Warp& warp = warps_[warp_of(thread)];
  Fiber* fiber = threads_[thread].fiber;
  threads_[thread] = wait_for;
  threads_[thread].fiber = fiber;
  states_[thread] = State::meets;
  if ((wait_for.mask & bit_of(thread)) == 0) {
    char detail[96];
    snprintf(detail, sizeof detail, "%s was called by lane %u with the mask 0x%08x", wait_for.what, lane_of(thread),
             wait_for.mask);
    launch_->fail(linear, checks::Failure::lane_not_in_mask, detail, {{thread, wait_for.where}});
  }
  warp.meeting |= bit_of(thread);
  if (finish_meeting(thread, true)) return true;
  finish_converging(warp_of(thread), 0);
  return false;
}

// Whether the lanes that a waiting thread's mask names have all come; then all go on.
bool Block::finish_meeting(unsigned thread, bool runs) {
  const unsigned first = thread - lane_of(thread);
  Warp& warp = warps_[warp_of(thread)];
  const Thread& wait_for = threads_[thread];
  const unsigned lanes = wait_for.mask & ~warp.ended;
  if ((warp.meeting & lanes) != lanes) return false;
  void* brought[kWarpSize] = {};
  for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {
    const unsigned lane = static_cast<unsigned>(__builtin_ctz(rest));
    const Thread& other = threads_[first + lane];
    if (other.resolve != wait_for.resolve || other.mask != wait_for.mask) return false;
    brought[lane] = other.brought;
  }
  const unsigned lacked = wait_for.resolve(brought, lanes);
  // A GPU does not wait for lanes that have ended, and what they would have brought is anything.
  if (checked != nullptr && (lacked & wait_for.mask & warp.ended & existing_lanes(warp_of(thread))) != 0) {
    launch_->fail(linear, checks::Failure::lane_never_comes, "which have ended, while others read their values",
                  waiting());
  }
  warp.meeting &= ~lanes;
  for (unsigned rest = runs ? lanes & ~bit_of(thread) : lanes; rest != 0; rest &= rest - 1) {
    ready_->push(first + static_cast<unsigned>(__builtin_ctz(rest)));
  }
  if (runs) states_[thread] = State::runs;
  return true;
}

bool Block::converge(unsigned thread, const void* where) {
  wait(thread, State::converges, "__activemask", where);
  warps_[warp_of(thread)].converging |= bit_of(thread);
  return finish_converging(warp_of(thread), bit_of(thread));
}

// When no lane of a warp can run on, those that came to the same place go on together.  True where `running` does.
bool Block::finish_converging(unsigned index, unsigned running) {
  Warp& warp = warps_[index];
  if (warp.converging == 0 || warp.can_run()) return false;
  Thread* lanes = threads_ + index * kWarpSize;
  const void* where = lanes[__builtin_ctz(warp.converging)].where;
  unsigned together = 0;
  for (unsigned rest = warp.converging; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    if (lanes[lane].where == where) together |= 1u << lane;
  }
  warp.converging &= ~together;
  for (unsigned rest = together; rest != 0; rest &= rest - 1) {
    const unsigned lane = static_cast<unsigned>(__builtin_ctz(rest));
    lanes[lane].mask = together;
    if ((running >> lane & 1) == 0) ready_->push(index * kWarpSize + lane);
  }
  return (together & running) != 0;
}

void Block::arrive_at_grid_barrier(unsigned thread, const void* where) {
  ++at_grid_barrier_;
  wait(thread, State::at_grid_barrier, "grid.sync", where);
  warps_[warp_of(thread)].at_barrier |= bit_of(thread);
  finish_converging(warp_of(thread), 0);
}

void Block::leave_grid_barrier() {
  at_grid_barrier_ = 0;
  for (unsigned thread = 0; thread < count_; ++thread) {
    if (states_[thread] == State::at_grid_barrier) ready_->push(thread);
  }
  for (unsigned warp = 0; warp * kWarpSize < count_; ++warp) warps_[warp].at_barrier = 0;
}

void Block::note_return(unsigned thread) {
  if (!some_returned_) memset(returned_, 0, sizeof returned_);
  some_returned_ = true;
  returned_[warp_of(thread)] |= bit_of(thread);
}

bool Block::all_ended_returned() const {
  for (unsigned warp = 0; warp * kWarpSize < count_; ++warp) {
    const unsigned returned = some_returned_ ? returned_[warp] : 0;
    if ((warps_[warp].ended & existing_lanes(warp) & ~returned) != 0) return false;
  }
  return true;
}

void Block::fail_left_out() {
  launch_->fail(linear, checks::Failure::divergent_barrier, "which the other threads skipped", waiting());
}

void Block::fail_left_by_blocks() {
  launch_->fail(linear, checks::Failure::divergent_barrier, "which other blocks of the grid never reach", waiting());
}

void Block::fail_stuck() {
  using checks::Failure;
  const bool at_a_barrier = at_barrier_ + at_grid_barrier_ + at_named_barriers_ > 0;
  launch_->fail(linear, at_a_barrier ? Failure::divergent_barrier : Failure::lane_never_comes,
                at_a_barrier ? "and the others wait for something else" : "which wait elsewhere", waiting());
}

std::vector<checks::Waiting> Block::waiting() const {
  std::vector<checks::Waiting> found;
  for (unsigned thread = 0; thread < count_; ++thread) {
    found.push_back({thread, states_[thread] == State::ended ? nullptr : threads_[thread].where});
  }
  return found;
}

}  // namespace opbridge_twin

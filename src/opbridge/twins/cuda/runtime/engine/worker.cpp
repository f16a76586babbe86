#include "worker.h"

#include <driver_types.h>
#include <sched.h>

#include <algorithm>
#include <new>

#include "profile.h"

__thread ob_twin_dim ob_twin_thread_index;
__thread ob_twin_dim ob_twin_block_index;
__thread ob_twin_dim ob_twin_block_size;
__thread ob_twin_dim ob_twin_grid_size;

namespace opbridge_twin {

__thread Worker* Worker::running_ = nullptr;

Worker& Worker::mine() {
  static thread_local Worker worker;
  return worker;
}

// Not where an earlier block has failed.
bool Worker::may_run(Block& block) {
  block.checked = nullptr;
  if (!launch_->checks_block(block.linear)) return launch_->error.load(std::memory_order_relaxed) == 0;
  block.checked = checks::block_begin(launch_->checked, block.linear, block.shared.arena(), SharedMemory::kArenaBytes,
                                      &block.view, sizeof block.view);
  show_block(block);
  if (block.checked != nullptr && launch_->shared_bytes > 0) {
    checks::shared_variable(block.shared.dynamic(), launch_->shared_bytes, "the dynamic shared memory");
  }
  profile::block_begins(block, *launch_);
  return block.checked != nullptr;
}

bool Worker::begin_next_block() {
  if (next_ == last_) return false;
  if (block_->linear + 1 == next_) {
    block_->begin_next();
  } else {
    block_->begin(*launch_, next_);
  }
  ++next_;
  if (may_run(*block_)) return true;
  block_->begin_nothing();
  return false;
}

void Worker::run(Launch& launch, uint64_t first_block, uint64_t last_block) {
  launch_ = &launch;
  next_ = first_block + 1;
  last_ = last_block;
  turns_ = 0;
  block_ = own_block_.get();
  block_->begin(launch, first_block);
  if (may_run(*block_)) enter();
}

void Worker::run_cooperative(Launch& launch) {
  // Whichever way it ends, by an exception too: the next launch takes blocks that are left for its own.
  const struct Ending {
    std::vector<std::unique_ptr<Block>>& blocks;
    ~Ending() { blocks.clear(); }
  } ending{grid_};
  launch_ = &launch;
  next_ = last_ = 0;
  turns_ = 0;
  for (uint64_t i = 0; i < launch.blocks(); ++i) {
    grid_.push_back(std::make_unique<Block>());
    grid_.back()->begin(launch, i);
    if (!may_run(*grid_.back())) return;
  }
  go_on_with(*grid_.front());
  enter();
}

void Worker::enter() {
  Fiber* fiber = fibers_.take();
  if (fiber == nullptr) throw std::bad_alloc();
  running_ = this;
  begin_loop();
  fiber_ = fiber;
  ob_twin_switch(&host_, fiber->stack_pointer);
  running_ = nullptr;
  if (!abandoned_) return;
  abandoned_ = false;
  fibers_.reclaim();
  forget_blocks();
}

// In the midst of what they did.
void Worker::forget_blocks() {
  for (const auto& block : grid_) {
    if (block.get() == block_ || block->checked == nullptr) continue;
    profile::block_abandoned(*block);
    checks::block_end(block->checked);
  }
  profile::block_abandoned(*block_);
  if (block_->checked != nullptr) checks::block_end(block_->checked);
  if (!launch_->cooperative && !grid_.empty()) {
    own_block_ = std::move(grid_.front());
    grid_.clear();
  }
}

void Worker::end_block() {
  profile::block_ends(*block_);
  if (block_->checked != nullptr) checks::block_end(block_->checked);
  block_->checked = nullptr;
}

void Worker::begin_loop() {
  profile::thread_is_left();
  block_->begin_loop();
  thread_ = kLoop;
}

void Worker::fiber_main() {
  for (;;) running_->run_threads();
}

// Returns where this fiber has more to run.
void Worker::run_threads() {
  // Before the loop's first instruction, which may be a copy of the kernel's arguments to this stack.
  fiber_->locals = nullptr;
  if (block_->checked != nullptr) show_thread(block_->view.next);
  (block_->checked != nullptr ? launch_->checked_body : launch_->kernel->body)(launch_->arguments, &block_->view);
  if (thread_ == kLoop) {
    block_->end_loop();
  } else {
    block_->end(thread_);
  }
  if (!block_->has_ready()) {
    if (block_->has_unstarted()) return begin_loop();
    if (block_->over()) {
      end_block();
      if (grid_.empty() && begin_next_block()) return begin_loop();
    }
  }
  Fiber* ended = fiber_;
  fibers_.give_back(ended);
  hand_over(ended);
}

void Worker::hand_over(Fiber* from) {
  if (block_->has_ready()) {
    resume(from, block_->next_ready());
  } else if (block_->has_unstarted()) {
    start_loop(from);
  } else if (!grid_.empty() && (block_->over() || block_->all_at_grid_barrier())) {
    next_block(from);
  } else if (block_->over()) {
    back_to_host(from);
  } else {
    block_->fail_stuck();
  }
}

// Threads that have not begun come first: those that are ready may be spinning too.
void Worker::run_block(Fiber* from) {
  if (block_->has_unstarted()) {
    start_loop(from);
  } else {
    hand_over(from);
  }
}

void Worker::yield(unsigned thread, bool elsewhere) {
  if (!elsewhere && !block_->can_run()) return;
  Fiber* const self = fiber_;
  block_->step_back(thread);
  // All threads that could go on had a turn, and this one still waits.
  if (elsewhere && !block_->has_unstarted() && ++turns_ >= block_->ready() && !turn_to_another_block()) sched_yield();
  run_block(self);
}

void Worker::show_thread(unsigned thread) {
  const ob_twin_dim block = block_->view.block;
  ob_twin_thread_index = {thread % block.x, thread / block.x % block.y, thread / block.x / block.y};
  checks::thread_current(thread, fiber_->stack(), Fiber::kStackBytes, &fiber_->locals);
}

void Worker::show_block(const Block& block) {
  ob_twin_block_index = block.view.index;
  ob_twin_block_size = block.view.block;
  ob_twin_grid_size = block.view.grid;
}

void Worker::resume(Fiber* from, unsigned thread) {
  thread_ = thread;
  fiber_ = block_->thread(thread).fiber;
  if (const Fiber* upcoming = block_->upcoming()) upcoming->prefetch();
  if (block_->checked != nullptr) show_thread(thread);
  profile::thread_goes_on(thread);
  if (fiber_ != from) ob_twin_switch(&from->stack_pointer, fiber_->stack_pointer);
}

void Worker::start_loop(Fiber* from) {
  Fiber* fiber = fibers_.take();
  if (fiber == nullptr) abandon(cudaErrorMemoryAllocation);
  begin_loop();
  fiber_ = fiber;
  if (fiber_ != from) ob_twin_switch(&from->stack_pointer, fiber->stack_pointer);
}

void Worker::back_to_host(Fiber* from) { ob_twin_switch(&from->stack_pointer, host_); }

// Turns to the blocks one after the other.  After the last, another one begins if the device has room for it.
bool Worker::turn_to_another_block() {
  turns_ = 0;
  const auto here = std::find_if(grid_.begin(), grid_.end(), [this](const auto& one) { return one.get() == block_; });
  const auto can_run = [](const auto& one) { return one->can_run(); };
  auto other = here == grid_.end() ? here : std::find_if(here + 1, grid_.end(), can_run);
  if (other == grid_.end()) {
    if (begin_another_block()) return true;
    other = std::find_if(grid_.begin(), here, can_run);
    if (other == here) return false;
  }
  go_on_with(**other);
  return true;
}

bool Worker::begin_another_block() {
  if (launch_->piece == 0 || !launch_->enter()) return false;
  std::unique_ptr<Block> block;
  if (next_ != last_ || launch_->take(next_, last_)) block.reset(new (std::nothrow) Block);
  if (block == nullptr) {
    launch_->leave();
    return false;
  }
  block->begin(*launch_, next_);
  if (!may_run(*block)) {  // an earlier one has failed
    launch_->leave();
    return false;
  }
  ++next_;
  if (grid_.empty()) grid_.push_back(std::move(own_block_));
  grid_.push_back(std::move(block));
  block_ = grid_.back().get();
  return true;
}

void Worker::go_on_with(Block& block) {
  block_ = &block;
  if (block.checked == nullptr) return;
  checks::block_resumed(block.checked);
  profile::block_resumed(block);
  show_block(block);
}

void Worker::drop_ended_blocks() {
  const auto is_over = [](const auto& block) { return block->over(); };
  const auto kept = std::stable_partition(grid_.begin(), grid_.end(), [&](const auto& one) { return !is_over(one); });
  for (auto one = kept; one != grid_.end(); ++one) launch_->leave();
  grid_.erase(kept, grid_.end());
}

// The running block is over, or waits for the others of its grid.
void Worker::next_block(Fiber* from) {
  if (!launch_->cooperative) drop_ended_blocks();
  const auto can_run = [](const auto& one) { return one->can_run(); };
  auto next = std::find_if(grid_.begin(), grid_.end(), can_run);
  if (next == grid_.end()) {
    const auto waits = [](const auto& one) { return one->all_at_grid_barrier(); };
    if (std::none_of(grid_.begin(), grid_.end(), waits)) return back_to_host(from);
    pass_grid_barrier();
    next = grid_.begin();
  }
  turns_ = 0;
  go_on_with(**next);
  if (grid_.size() == 1 && !launch_->cooperative) {
    own_block_ = std::move(grid_.front());
    grid_.clear();
  }
  run_block(from);
}

// No block can run, and some have come to the barrier: all should have.
void Worker::pass_grid_barrier() {
  const auto left = [](const auto& one) { return one->over() || !one->all_at_grid_barrier(); };
  const bool some_left = std::any_of(grid_.begin(), grid_.end(), left);
  for (const auto& block : grid_) {
    if (!block->all_at_grid_barrier()) continue;
    if (!some_left && (launch_->checked == nullptr || !block->has_ended_threads())) continue;
    go_on_with(*block);
    some_left ? block->fail_left_by_blocks() : block->fail_left_out();
  }
  if (launch_->checked != nullptr) checks::grid_synced(launch_->checked);
  for (const auto& block : grid_) block->leave_grid_barrier();
}

void Worker::abandon(int error) {
  abandoned_ = true;
  launch_->error.store(error, std::memory_order_relaxed);
  void* nowhere;
  ob_twin_switch(&nowhere, host_);
  __builtin_unreachable();
}

}  // namespace opbridge_twin

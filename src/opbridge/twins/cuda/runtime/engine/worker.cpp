#include "worker.h"

#include <driver_types.h>

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
  if (blocks_left_ == 0) return false;
  --blocks_left_;
  block_->begin_next();
  if (may_run(*block_)) return true;
  block_->begin_nothing();
  return false;
}

void Worker::run(Launch& launch, uint64_t first_block, uint64_t last_block) {
  launch_ = &launch;
  blocks_left_ = last_block - first_block - 1;
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
  blocks_left_ = 0;
  for (uint64_t i = 0; i < launch.blocks(); ++i) {
    grid_.push_back(std::make_unique<Block>());
    grid_.back()->begin(launch, i);
    if (!may_run(*grid_.back())) return;
  }
  block_ = grid_.front().get();
  if (block_->checked != nullptr) {
    checks::block_resumed(block_->checked);
    profile::block_resumed(*block_);
    show_block(*block_);
  }
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
  profile::block_abandoned(*block_);
  if (block_->checked != nullptr) checks::block_end(block_->checked);
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
      profile::block_ends(*block_);
      if (block_->checked != nullptr) checks::block_end(block_->checked);
      if (begin_next_block()) return begin_loop();
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

void Worker::yield(unsigned thread) {
  // Threads that have not begun come first: those that are ready may be spinning too.
  if (!block_->has_unstarted() && !block_->has_ready()) return;
  Fiber* self = fiber_;
  block_->step_back(thread);
  if (block_->has_unstarted()) {
    start_loop(self);
  } else {
    hand_over(self);
  }
}

void Worker::show_thread(unsigned thread) {
  const ob_twin_dim block = block_->view.block;
  ob_twin_thread_index = {thread % block.x, thread / block.x % block.y, thread / block.x / block.y};
  checks::thread_current(thread, fiber_->stack(), Fiber::kStackBytes);
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

// The running block is over, or waits for the others of its grid.
void Worker::next_block(Fiber* from) {
  bool waiting = false;
  for (int round = 0; round < 2; ++round) {
    for (const auto& block : grid_) {
      const bool can_run = block->has_ready() || block->has_unstarted();
      waiting = waiting || block->all_at_grid_barrier();
      if (!can_run) continue;
      block_ = block.get();
      if (launch_->checked != nullptr) {
        checks::block_resumed(block_->checked);
        profile::block_resumed(*block_);
        show_block(*block_);
      }
      return hand_over(from);
    }
    if (!waiting) return back_to_host(from);
    for (const auto& block : grid_) {
      if (block->over()) block_->fail_stuck();  // it waits for a block that has left the kernel
      if (launch_->checked == nullptr || !block->has_ended_threads()) continue;
      block_ = block.get();
      checks::block_resumed(block_->checked);
      block_->fail_left_out();
    }
    if (launch_->checked != nullptr) checks::grid_synced(launch_->checked);
    for (const auto& block : grid_) block->leave_grid_barrier();
  }
}

void Worker::abandon(int error) {
  abandoned_ = true;
  launch_->error.store(error, std::memory_order_relaxed);
  void* nowhere;
  ob_twin_switch(&nowhere, host_);
  __builtin_unreachable();
}

}  // namespace opbridge_twin

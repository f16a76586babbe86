// What one OS thread runs: a block at a time, or several in turns where these wait for each other.
#ifndef OPBRIDGE_TWIN_RUNTIME_ENGINE_WORKER_H
#define OPBRIDGE_TWIN_RUNTIME_ENGINE_WORKER_H

#include <memory>
#include <vector>

#include "block.h"
#include "checks/checks.h"
#include "launch.h"

namespace opbridge_twin {

// An OS thread that runs blocks, and the fibers for their threads.
class Worker {
 public:
  Worker() : fibers_(fiber_main) {}

  // The calling OS thread's own.
  static Worker& mine();
  // Null where no kernel runs.
  static Worker* running() { return running_; }

  void run(Launch& launch, uint64_t first_block, uint64_t last_block);
  // All blocks in turns, because they may wait for each other.
  void run_cooperative(Launch& launch);

  Block& block() { return *block_; }
  const Block& block() const { return *block_; }
  Launch& launch() { return *launch_; }
  const Launch& launch() const { return *launch_; }

  // `thread` is the one that calls, as only its own code knows while the loop runs.  Before it may wait:
  void settle(unsigned thread) {
    if (thread_ != kLoop) return;
    block_->settle(thread, fiber_);
    thread_ = thread;
  }
  // Lets others run until its turn comes again.
  void wait() { hand_over(fiber_); }
  // The same for a thread that could go on: where `elsewhere`, other blocks run too, once its own has had its turns.
  void yield(unsigned thread, bool elsewhere);

  // In the loop of a checked kernel.  False where the loop has been left.
  bool begin_thread(unsigned x, unsigned y, unsigned z) {
    if (thread_ != kLoop) return false;
    const ob_twin_dim block = block_->view.block;
    ob_twin_thread_index = {x, y, z};
    looped_ = x + block.x * (y + block.y * z);
    checks::thread_current(looped_);
    return true;
  }
  // The one that runs, in a checked kernel.
  unsigned thread() const { return thread_ == kLoop ? looped_ : thread_; }

  // Ends the launch on this OS thread, from any depth of a kernel.
  [[noreturn]] void abandon(int error);

 private:
  static constexpr unsigned kLoop = ~0u;  // the running fiber is not yet a single thread's

  static void fiber_main();
  void run_threads();
  bool may_run(Block& block);
  bool begin_next_block();
  void enter();
  void end_block();
  void forget_blocks();

  // For blocks that run in turns.
  bool turn_to_another_block();
  bool begin_another_block();
  void go_on_with(Block& block);
  void drop_ended_blocks();
  void pass_grid_barrier();

  // Leaves `from` until another fiber switches back to it.
  void hand_over(Fiber* from);
  void resume(Fiber* from, unsigned thread);
  void start_loop(Fiber* from);
  void switch_fibers(Fiber* from, Fiber* to);
  void back_to_host(Fiber* from);
  void run_block(Fiber* from);
  void next_block(Fiber* from);
  void begin_loop();
  void show_thread(unsigned thread);
  void show_block(const Block& block);

  static __thread Worker* running_ OB_TWIN_NEAR;

  Launch* launch_ = nullptr;
  Block* block_ = nullptr;
  Fiber* fiber_ = nullptr;
  unsigned thread_ = kLoop;
  unsigned looped_ = 0;  // the loop's thread, in checked kernels
  void* host_ = nullptr;
  bool abandoned_ = false;
  uint64_t next_ = 0, last_ = 0;  // blocks of a launch that are this thread's and have not begun
  unsigned turns_ = 0;            // of the running block's threads, since it took its turn
  FiberPool fibers_;
  std::unique_ptr<Block> own_block_ = std::make_unique<Block>();
  // Blocks that have begun, if there are several: in a cooperative launch, or if some wait for others.
  std::vector<std::unique_ptr<Block>> grid_;
};

}  // namespace opbridge_twin
#endif

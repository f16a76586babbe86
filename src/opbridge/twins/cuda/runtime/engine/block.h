// One block: which of its threads run, wait or have ended, and its shared memory.
//
// Its threads begin as a plain loop on one fiber.  The first thread that must wait keeps that fiber, and the loop
// continues from the next thread in another.  Threads that never wait thus cost no switch and do not touch the tables
// here.  Threads of one block never run at the same time: a waiting thread itself switches to the next.
#ifndef OPBRIDGE_TWIN_RUNTIME_ENGINE_BLOCK_H
#define OPBRIDGE_TWIN_RUNTIME_ENGINE_BLOCK_H

#include <opbridge_twin/runtime.h>

#include "checks/checks.h"
#include "context.h"
#include "shared_memory.h"

namespace opbridge_twin {

struct Launch;

constexpr unsigned kMostThreads = 1024;
constexpr unsigned kWarpSize = 32;
constexpr unsigned kMostWarps = kMostThreads / kWarpSize;

inline unsigned warp_of(unsigned thread) { return thread / kWarpSize; }
inline unsigned lane_of(unsigned thread) { return thread % kWarpSize; }
inline unsigned bit_of(unsigned thread) { return 1u << lane_of(thread); }

// What a thread of the block does or waits for.
enum class State : unsigned char {
  unstarted,
  runs,
  at_barrier,
  meets,
  converges,
  at_grid_barrier,
  at_named_barrier,
  ended
};

// The state of a waiting thread.
struct Thread {
  Fiber* fiber;
  const void* where;  // a return address in the kernel
  const char* what;
  void* brought;
  ob_twin_resolve resolve;
  unsigned mask;
};

// Lanes, as bits.
struct Warp {
  unsigned ended;  // and those that the block is too small to have
  unsigned meeting;
  unsigned converging;
  unsigned at_barrier;  // of the block or the grid

  bool can_run() const { return (ended | meeting | converging | at_barrier) != ~0u; }
};

// A barrier for some threads of the block.
struct NamedBarrier {
  unsigned expected;  // 0 where nobody has come
  unsigned arrived;
};
constexpr unsigned kNamedBarriers = 16;

// Threads in the order in which they go on; each is in there at most once.
class Queue {
 public:
  bool empty() const { return begin_ == end_; }
  unsigned size() const { return end_ - begin_; }
  void push(unsigned thread) { threads_[end_++ % kMostThreads] = static_cast<unsigned short>(thread); }
  unsigned pop() { return threads_[begin_++ % kMostThreads]; }
  unsigned front() const { return threads_[begin_ % kMostThreads]; }
  void clear() { begin_ = end_ = 0; }

 private:
  unsigned begin_ = 0, end_ = 0;
  unsigned short threads_[kMostThreads];
};

// One block while it runs. A worker has one, and uses it for block after block of a launch.
class Block {
 public:
  void begin(const Launch& launch, uint64_t linear_index);
  // Begins the next block of the grid.
  void begin_next();
  // None of its threads.
  void begin_nothing() { view.next = count_; }
  void begin_loop() { loop_first_ = view.next; }

  // The thread that the loop is at keeps the loop's fiber.
  void settle(unsigned thread, Fiber* fiber);
  void end_loop();
  void end(unsigned thread);

  // Each is true where the thread need not wait.
  bool arrive_at_barrier(unsigned thread, int predicate, const void* where);
  bool arrive_at_named_barrier(unsigned thread, unsigned number, unsigned count, bool waits, const void* where);
  bool meet(unsigned thread, const Thread& wait);
  bool converge(unsigned thread, const void* where);
  void arrive_at_grid_barrier(unsigned thread, const void* where);
  void leave_grid_barrier();
  // A thread leaves the kernel before its end.
  void note_return(unsigned thread);
  void step_back(unsigned thread) { ready_->push(thread); }

  bool has_ready() const { return scheduled_ && !ready_->empty(); }
  unsigned ready() const { return scheduled_ ? ready_->size() : 0; }
  unsigned next_ready();
  // Null, or the fiber that is probably next.
  const Fiber* upcoming() const { return has_ready() ? threads_[ready_->front()].fiber : nullptr; }
  bool has_unstarted() const { return view.next < count_; }
  bool can_run() const { return has_ready() || has_unstarted(); }
  bool over() const { return !scheduled_ || ended_ == count_; }
  bool all_at_grid_barrier() const { return at_grid_barrier_ > 0 && at_grid_barrier_ + ended_ == count_; }
  bool has_ended_threads() const { return scheduled_ && ended_ > 0; }
  // Some wait at a barrier, and others have ended.
  [[noreturn]] void fail_left_out();
  // All wait at the grid's barrier, and another block has left the kernel.
  [[noreturn]] void fail_left_by_blocks();
  // No thread can go on, and some wait.
  [[noreturn]] void fail_stuck();

  const Thread& thread(unsigned thread) const { return threads_[thread]; }
  ob_twin_vote vote() const { return vote_; }

  ob_twin_block view;
  uint64_t linear;  // in its grid
  checks::Block* checked = nullptr;
  SharedMemory shared;

 private:
  void schedule();
  unsigned existing_lanes(unsigned warp) const;
  void mark_ended(unsigned thread);
  void after_ends(unsigned first_warp, unsigned last_warp);
  void finish_barrier();
  bool all_ended_returned() const;
  void finish_named_barrier(unsigned number);
  bool finish_meeting(unsigned thread, bool runs);
  bool finish_converging(unsigned warp, unsigned running);
  void wait(unsigned thread, State state, const char* what, const void* where);
  std::vector<checks::Waiting> waiting() const;

  unsigned count_;
  unsigned loop_first_;  // where the running loop began
  bool scheduled_;       // some thread had to wait: the rest is in use
  const Launch* launch_;
  unsigned ended_;
  unsigned at_barrier_;
  unsigned at_grid_barrier_;
  unsigned at_named_barriers_;  // threads that wait
  NamedBarrier named_[kNamedBarriers];
  unsigned agreed_;
  ob_twin_vote vote_;
  Queue queues_[2];
  Queue* ready_ = &queues_[0];
  Queue* barrier_ = &queues_[1];
  Warp warps_[kMostWarps];
  State states_[kMostThreads];
  Thread threads_[kMostThreads];
  bool some_returned_;
  unsigned returned_[kMostWarps];  // by a `return`, where some have

  // For the checks: where the first thread came to the barrier, and whether others came to another one.
  const void* barrier_site_;
  bool several_sites_;
};

}  // namespace opbridge_twin
#endif

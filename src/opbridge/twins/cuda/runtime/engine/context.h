// Stacks of their own for threads of a block, and the switch from one to another.
#ifndef OPBRIDGE_TWIN_RUNTIME_ENGINE_CONTEXT_H
#define OPBRIDGE_TWIN_RUNTIME_ENGINE_CONTEXT_H

#include <stddef.h>

#include <memory>
#include <vector>

struct ob_twin_local;

namespace opbridge_twin {

// Saves the registers that a call preserves on the current stack, and goes on where `to` was left.  The floating-point
// environment belongs to the OS thread and is not switched.
extern "C" void ob_twin_switch(void** from, void* to);

// A thread's stack and where it was left; it goes on in whichever order the block likes, on one OS thread.
class Fiber {
 public:
  static constexpr size_t kStackBytes = size_t{256} << 10;
  static constexpr size_t kLineBytes = 64, kFrameBytes = 4 * kLineBytes;

  // `low` is the lower end of kStackBytes; `colour` moves the frames of different fibers to different cache sets.
  Fiber(char* low, unsigned colour) : low_(low), top_(low + kStackBytes - 192 * (colour % 20)) {}

  // Whatever it ran is forgotten: from now on it begins with `main`, which never returns.
  void reset(void (*main)());

  const char* stack() const { return low_; }

  // Stacks lie on pages of their own: what a switch takes from one is not at hand otherwise.
  void prefetch() const {
    const char* const frame = static_cast<const char*>(stack_pointer);
    for (size_t line = 0; line < kFrameBytes; line += kLineBytes) __builtin_prefetch(frame + line, 1);
  }

  void* stack_pointer = nullptr;
  bool idle = false;
  const ob_twin_local* locals = nullptr;  // what the checks know of local arrays on the stack

 private:
  char* low_;
  char* top_;
};

// The fibers of one OS thread.
class FiberPool {
 public:
  explicit FiberPool(void (*main)()) : main_(main) {}
  ~FiberPool();
  FiberPool(const FiberPool&) = delete;
  FiberPool& operator=(const FiberPool&) = delete;

  // Null where the system gives no more memory.
  Fiber* take();

  void give_back(Fiber* fiber) {
    fiber->idle = true;
    idle_.push_back(fiber);
  }

  // All are abandoned in the midst of what they did, the one that was given back last and still runs too.
  void reclaim();

 private:
  bool grow();

  void (*main_)();
  std::vector<std::unique_ptr<Fiber>> all_;
  std::vector<Fiber*> idle_;
  std::vector<char*> mappings_;
  size_t guards_ = 0;  // of its stacks
};

}  // namespace opbridge_twin
#endif

// One launch: blocks that threads take one after the other.
#ifndef OPBRIDGE_ASCEND_RUNTIME_LAUNCH_H
#define OPBRIDGE_ASCEND_RUNTIME_LAUNCH_H

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "report.h"

namespace opbridge_ascend {

// Ends a block from inside its kernel; not an error of C++, which a kernel could catch.
struct BlockEnded {};

class Launch {
 public:
  Launch(const char* kernel, uint32_t blocks, void (*body)(void*), void* state, bool checked)
      : blocks_(blocks), checked_(checked), kernel_(kernel), body_(body), state_(state) {}

  // 0, or 1 where something was reported.
  uint32_t run();
  void sync_all(uint32_t block, const Place& at);
  void add(Report report);

  uint32_t blocks() const { return blocks_; }
  bool checked() const { return checked_; }

 private:
  // Runs blocks until none is left.
  void work();
  void run_block(uint32_t index);
  void block_ended();

  const uint32_t blocks_;
  const bool checked_;
  const char* const kernel_;
  void (*const body_)(void*);
  void* const state_;
  std::atomic<uint32_t> next_{0};

  std::mutex mutex_;
  std::condition_variable changed_;
  uint32_t waiting_ = 0, ended_ = 0, phase_ = 0;
  bool stuck_ = false;
  // In the place of threads that wait in SyncAll, for blocks that have not begun.
  std::vector<std::thread> helpers_;
  std::vector<Report> reports_;
};

}  // namespace opbridge_ascend
#endif

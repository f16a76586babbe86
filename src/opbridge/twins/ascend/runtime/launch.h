// One launch: blocks that threads take one after the other.
#ifndef OPBRIDGE_ASCEND_RUNTIME_LAUNCH_H
#define OPBRIDGE_ASCEND_RUNTIME_LAUNCH_H

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "races.h"

namespace opbridge_ascend {

// Ends a block from inside its kernel; not an error of C++, which a kernel could catch.
struct BlockEnded {};

class Block;
class Writes;

class Launch {
 public:
  // `log` is null where nobody wants to know what was written.
  Launch(uint32_t blocks, void (*body)(void*), void* state, bool checked, Writes* log = nullptr)
      : blocks_(blocks), checked_(checked), body_(body), state_(state), log_(log) {}

  std::vector<Report> run();
  void sync_all(uint32_t block, const Place& at);
  void add(Report report);

  uint32_t blocks() const { return blocks_; }
  bool checked() const { return checked_; }
  Writes* log() const { return log_; }
  // Whether the kernel has asked how many blocks there are.
  bool asked_for_count() const { return asked_for_count_; }

 private:
  // Runs blocks until none is left.
  void work();
  void run_block(uint32_t index);
  void block_ended(Block& block);

  const uint32_t blocks_;
  const bool checked_;
  void (*const body_)(void*);
  void* const state_;
  Writes* const log_;
  std::atomic<uint32_t> next_{0};

  std::mutex mutex_;
  std::condition_variable changed_;
  uint32_t waiting_ = 0, ended_ = 0, phase_ = 0;
  bool stuck_ = false;
  // In the place of threads that wait in SyncAll, for blocks that have not begun.
  std::vector<std::thread> helpers_;
  std::vector<Report> reports_;
  std::vector<TouchedBy> touched_;
  bool asked_for_count_ = false;
};

}  // namespace opbridge_ascend
#endif

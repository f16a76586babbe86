#include "launch.h"

#include <opbridge/pool.h>
#include <opbridge_ascend/launch.h>
#include <stdlib.h>
#include <string.h>

#include "block.h"
#include "rerun.h"
#include "soc.h"

namespace opbridge_ascend {
namespace {

// blockDim counts logical blocks in 16 bits.
constexpr uint32_t kMostBlocks = 65535;

std::atomic<uint64_t> current_tiling_key{0};

// OPBRIDGE_TWIN_CHECKS: 0 for none, blocks for those that run a kernel several times too.
bool checks_are(const char* wanted) {
  const char* const value = getenv("OPBRIDGE_TWIN_CHECKS");
  return value != nullptr && strcmp(value, wanted) == 0;
}

std::string objection(uint32_t blocks) {
  if (blocks == 0 || blocks > kMostBlocks) {
    return "blockDim is " + std::to_string(blocks) + ", and must be 1 to " + std::to_string(kMostBlocks);
  }
  if (chosen_soc() == nullptr) {
    return std::string("OPBRIDGE_ASCEND_SOC is \"") + getenv("OPBRIDGE_ASCEND_SOC") + "\", expected " + soc_names();
  }
  return {};
}

}  // namespace

std::vector<Report> Launch::run() {
  // As many blocks at a time as there are processors: a piece of the pool's work is to run blocks until none is left.
  const int64_t threads = std::min<int64_t>(blocks_, ob::pool.size());
  ob::pool.run(threads, 1, [](void* self, int64_t, int64_t) { static_cast<Launch*>(self)->work(); }, this);
  for (;;) {
    std::thread helper;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (helpers_.empty()) break;
      helper = std::move(helpers_.back());
      helpers_.pop_back();
    }
    helper.join();
  }
  for (Report& race : find_races(touched_)) reports_.push_back(std::move(race));
  return std::move(reports_);
}

void Launch::work() {
  for (uint32_t index; (index = next_.fetch_add(1)) < blocks_;) run_block(index);
}

void Launch::run_block(uint32_t index) {
  Block& block = Block::mine();
  block.begin(*this, index);
  try {
    body_(state_);
    block.end();
  } catch (const BlockEnded&) {
  }
  Block::leave();
  block_ended(block);
}

void Launch::block_ended(Block& block) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (checked_ && blocks_ > 1) touched_.push_back(block.touched());
  asked_for_count_ = asked_for_count_ || block.registers.asked_for_count;
  ++ended_;
  if (waiting_ > 0 && waiting_ + ended_ == blocks_) {
    stuck_ = true;
    changed_.notify_all();
  }
}

void Launch::sync_all(uint32_t block, const Place& at) {
  std::unique_lock<std::mutex> lock(mutex_);
  ++waiting_;
  if (waiting_ == blocks_) {
    waiting_ = 0;
    ++phase_;
    changed_.notify_all();
    return;
  }
  if (waiting_ + ended_ == blocks_) {
    stuck_ = true;
    changed_.notify_all();
  } else if (next_.load() < blocks_) {
    helpers_.emplace_back([this] { work(); });
  }
  changed_.wait(lock, [this, mine = phase_] { return phase_ != mine || stuck_; });
  if (!stuck_) return;
  // A block that ended because of a mistake says so itself.
  if (reports_.empty()) {
    const std::string count = std::to_string(ended_) + " of " + std::to_string(blocks_);
    reports_.push_back({Kind::sync_all,
                        "waits for blocks that have ended",
                        text_of(at) + ", SyncAll",
                        block,
                        {{"ended", count + " blocks, which called it less often"}}});
  }
  throw BlockEnded{};
}

void Launch::add(Report report) {
  const std::lock_guard<std::mutex> lock(mutex_);
  reports_.push_back(std::move(report));
}

uint64_t tiling_key() { return current_tiling_key.load(std::memory_order_relaxed); }

}  // namespace opbridge_ascend

uint32_t ob_ascend_launch(const char* kernel, uint32_t blocks, void (*body)(void*), void* state) {
  using namespace opbridge_ascend;
  if (const std::string why = objection(blocks); !why.empty()) {
    deliver(kernel, {{Kind::bad_launch, why, {}, {}, {}}});
    return 1;
  }
  std::vector<Report> reports =
      checks_are("blocks") ? run_on_several(blocks, body, state) : Launch(blocks, body, state, !checks_are("0")).run();
  if (reports.empty()) return 0;
  deliver(kernel, std::move(reports));
  return 1;
}

void ob_ascend_set_tiling_key(uint64_t key) { opbridge_ascend::current_tiling_key = key; }

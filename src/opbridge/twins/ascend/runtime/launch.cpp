#include "launch.h"

#include <opbridge/pool.h>
#include <opbridge_ascend/launch.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "block.h"
#include "faults.h"
#include "memory.h"
#include "recording.h"
#include "rerun.h"
#include "soc.h"
#include "writers.h"

namespace opbridge_ascend {
namespace {

// blockDim counts logical blocks in 16 bits.
constexpr uint32_t kMostBlocks = 65535;

std::atomic<uint64_t> current_tiling_key{0};
std::atomic<bool> muted{false};

// OPBRIDGE_TWIN_CHECKS: 0 for none, blocks for those that run a kernel several times too.
bool checks_are(const char* wanted) {
  const char* const value = getenv("OPBRIDGE_TWIN_CHECKS");
  return value != nullptr && strcmp(value, wanted) == 0;
}

// OPBRIDGE_ASCEND_AUTO_SYNC: 0 for kernels as they are built without --cce-auto-sync.
bool has_auto_sync(const ob_ascend_kernel& kernel) {
  const char* const value = getenv("OPBRIDGE_ASCEND_AUTO_SYNC");
  return kernel.auto_sync != 0 && (value == nullptr || strcmp(value, "0") != 0);
}

bool knows_all(const ob_ascend_kernel& kernel) {
  const void* const* const end = kernel.addresses + kernel.address_count;
  const auto is_known = [](const void* address) { return allocation_of(address).bytes > 0; };
  return std::all_of(kernel.addresses, end, [&](const void* it) { return it == nullptr || is_known(it); }) &&
         std::any_of(kernel.addresses, end, is_known);
}

// What a kernel's frames will lie on, where a variable that nothing is assigned to shows: see looks_unset.
[[gnu::noinline]] void paint_stack(uint8_t unset) {
  uint8_t below[64 * 1024];
  memset(below, unset, sizeof below);
  asm volatile("" : : "r"(below) : "memory");
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
  const int64_t threads = std::min<int64_t>(cores_, ob::pool.size());
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
  if (checked_ && reports_.empty()) report_flags_left();
  doubts_ = find_races(touched_);
  for (Report& race : doubts_.reports) reports_.push_back(std::move(race));
  for (Report& line : find_shared_lines(touched_)) reports_.push_back(std::move(line));
  return std::move(reports_);
}

void Launch::work() {
  for (uint32_t index; (index = next_.fetch_add(1)) < cores_;) run_block(index);
}

void Launch::run_block(uint32_t index) {
  Block& block = Block::mine();
  block.begin(*this, index);
  run_to_its_end(block);
}

void Launch::run_to_its_end(Block& block) {
  // Nothing else is called between the two.
  const auto body = [](void* self) {
    const Launch& launch = *static_cast<Launch*>(self);
    if (launch.checked_) paint_stack(launch.work_.unset);
    launch.work_.body(launch.work_.state);
  };
  try {
    if (runs_without_fault(body, this)) {
      block.end();
    } else {
      block.report_division();
    }
  } catch (const BlockEnded&) {
  }
  block_ended(block);
  Block::leave();
}

void Launch::start_cube_of(uint32_t vector_core) {
  // If a kernel does not declare that it runs on both kinds of cores, this core finds out whether it should.
  if (!is_mixed() && !checked_) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint32_t block = vector_core / work_.cores_per_block;
  cube_started_.resize(cores_ / work_.cores_per_block);
  if (cube_started_[block]) return;
  cube_started_[block] = true;
  ++cubes_;
  helpers_.emplace_back([this, block] { run_as_cube(block); });
}

void Launch::run_as_cube(uint32_t index) {
  Block& block = Block::mine();
  block.begin_as_cube(*this, index);
  run_to_its_end(block);
}

void Launch::cube_serves() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++serving_;
  if (both_waiting_ > 0 && both_waiting_ == all_cores() - serving_) go_on_together();
}

void Launch::block_ended(Block& block) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (checked_ && has_others()) touched_.push_back(block.touched());
  asked_for_count_ = asked_for_count_ || block.registers.asked_for_count;
  ++ended_;
  if (blocked_ > 0 && blocked_ + ended_ == all_cores()) {
    stuck_ = true;
    changed_.notify_all();
  }
}

void Launch::add(Report report) {
  const std::lock_guard<std::mutex> lock(mutex_);
  reports_.push_back(std::move(report));
}

void Launch::suspect(Report report) {
  const std::lock_guard<std::mutex> lock(mutex_);
  suspicions_.push_back(std::move(report));
}

uint64_t tiling_key() { return current_tiling_key.load(std::memory_order_relaxed); }

}  // namespace opbridge_ascend

uint32_t ob_ascend_launch(const ob_ascend_kernel* kernel, uint32_t blocks) {
  using namespace opbridge_ascend;
  if (const std::string why = objection(blocks); !why.empty()) {
    deliver(kernel->name, {{Kind::bad_launch, why, {}, {}, {}}});
    return 1;
  }
  if (muted) return 0;
  const auto kind = static_cast<Cores>(kernel->cores);
  const Work work{kernel->body, kernel->state,          kind == Cores::mixed ? chosen_soc()->vector_cores : 1,
                  kind,         has_auto_sync(*kernel), knows_all(*kernel)};
  Recordings* const recordings = Recordings::of(kernel->name, blocks, work.cores_per_block, kind);
  std::vector<Report> reports = checks_are("0")        ? Launch(work, blocks, false, nullptr, recordings).run()
                                : checks_are("blocks") ? run_on_several(work, blocks)
                                                       : run_once(work, blocks, writes_to_note(), recordings);
  if (reports.empty()) return 0;
  deliver(kernel->name, std::move(reports));
  return 1;
}

void ob_ascend_set_tiling_key(uint64_t key) { opbridge_ascend::current_tiling_key = key; }

void ob_ascend_mute(int on) { opbridge_ascend::muted = on != 0; }

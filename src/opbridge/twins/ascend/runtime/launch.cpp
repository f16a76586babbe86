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
  const bool has_asked = block.registers.asked_for_kind;
  block_ended(block);
  if (checked_ && has_asked && index % work_.cores_per_block == 0) run_as_cube(block, index);
  Block::leave();
}

void Launch::run_as_cube(Block& block, uint32_t index) {
  block.begin_as_cube(*this, index);
  try {
    work_.body(work_.state);
  } catch (const BlockEnded&) {
  }
}

void Launch::block_ended(Block& block) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (checked_ && cores_ > 1) touched_.push_back(block.touched());
  asked_for_count_ = asked_for_count_ || block.registers.asked_for_count;
  ++ended_;
  if (blocked_ > 0 && blocked_ + ended_ == cores_) {
    stuck_ = true;
    changed_.notify_all();
  }
}

void Launch::others_go_on() {
  ++turn_;
  blocked_ = 0;
  changed_.notify_all();
}

template <class Ready>
void Launch::wait_until(std::unique_lock<std::mutex>& lock, Ready ready, uint32_t block, const char* call,
                        const Place& at) {
  if (!ready() && blocked_ + 1 + ended_ < cores_ && next_.load() < cores_) {
    helpers_.emplace_back([this] { work(); });
  }
  while (!ready()) {
    ++blocked_;
    if (blocked_ + ended_ == cores_) {
      stuck_ = true;
      changed_.notify_all();
    }
    changed_.wait(lock, [this, mine = turn_] { return turn_ != mine || stuck_; });
    if (!stuck_) continue;
    // A block that ended because of a mistake says so itself.
    if (reports_.empty()) {
      const std::string count = std::to_string(ended_) + " of " + std::to_string(cores_);
      reports_.push_back({Kind::sync_all,
                          ended_ > 0 ? "waits for blocks that have ended" : "waits for a flag that no block sets",
                          text_of(at) + ", " + call,
                          block,
                          {{"ended", count + " blocks, which called it less often"}}});
    }
    throw BlockEnded{};
  }
}

void Launch::sync_all(uint32_t block, const Place& at) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (++waiting_ == cores_) {
    waiting_ = 0;
    ++phase_;
    return others_go_on();
  }
  wait_until(lock, [this, mine = phase_] { return phase_ != mine; }, block, "SyncAll", at);
}

Launch::CrossCoreFlag& Launch::flag_at(uint32_t flag, const Place& at) {
  CrossCoreFlag& found = flags_[flag];
  found.set.resize(cores_);
  found.counter.resize(cores_);
  found.place = at;
  return found;
}

void Launch::set_flag_of_cores(uint32_t block, uint32_t group, uint32_t flag, const Place& at) {
  const std::lock_guard<std::mutex> lock(mutex_);
  CrossCoreFlag& of = flag_at(flag, at);
  const uint32_t first = group == 0 ? 0 : block / group * group;
  const uint32_t last = group == 0 ? cores_ : std::min(first + group, cores_);
  ++of.set[block];
  if (std::find(&of.set[first], &of.set[0] + last, 0u) != &of.set[0] + last) return;
  for (uint32_t i = first; i < last; ++i) {
    --of.set[i];
    ++of.counter[i];
  }
  others_go_on();
}

void Launch::wait_flag_of_cores(uint32_t block, uint32_t flag, const Place& at) {
  std::unique_lock<std::mutex> lock(mutex_);
  uint32_t& counter = flag_at(flag, at).counter[block];
  wait_until(lock, [&counter] { return counter > 0; }, block, "CrossCoreWaitFlag", at);
  --counter;
}

void Launch::set_flag_at(const int32_t* flag, uint32_t block, const Order& order, const Place& at) {
  const std::lock_guard<std::mutex> lock(mutex_);
  SingleFlag& of = single_flags_[flag];
  ++of.sets;
  of.block = block;
  of.place = at;
  of.heard.join({order.waits, {{block, order.epoch + 1}}});
  if (order.heard != nullptr) of.heard.join(*order.heard);
  others_go_on();
}

const Heard* Launch::wait_flag_at(const int32_t* flag, uint32_t block, const Order& order, const Place& at) {
  std::unique_lock<std::mutex> lock(mutex_);
  SingleFlag& of = single_flags_[flag];
  wait_until(lock, [&of] { return of.sets > 0; }, block, "IBWait", at);
  --of.sets;
  heard_.push_back(of.heard);
  if (order.heard != nullptr) heard_.back().join(*order.heard);
  return &heard_.back();
}

void Launch::report_flags_left() {
  const auto left = [this](const Place& place, const std::string& call, uint32_t block) {
    reports_.push_back({Kind::unpaired_flag, "set, but never waited for", text_of(place) + ", " + call, block, {}});
  };
  for (const auto& [address, flag] : single_flags_) {
    if (flag.sets > 0) left(flag.place, "IBSet", flag.block);
  }
  for (uint32_t id = 0; id < kCrossCoreFlags; ++id) {
    const CrossCoreFlag& flag = flags_[id];
    for (uint32_t block = 0; block < flag.set.size(); ++block) {
      if (flag.set[block] + flag.counter[block] == 0) continue;
      left(flag.place, "CrossCoreSetFlag of id " + std::to_string(id), block);
    }
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

// How the cores of a launch wait for each other: SyncAll, and flags of all blocks, of one block, and of two cores.
#include <algorithm>

#include "launch.h"
#include "names.h"

namespace opbridge_ascend {

void Launch::others_go_on() {
  ++turn_;
  blocked_ = 0;
  changed_.notify_all();
}

template <class Ready>
void Launch::wait_until(std::unique_lock<std::mutex>& lock, Ready ready, uint32_t core, const char* call,
                        const Place& at) {
  if (!ready() && blocked_ + 1 + ended_ < all_cores() && next_.load() < cores_) {
    helpers_.emplace_back([this] { work(); });
  }
  while (!ready()) {
    ++blocked_;
    if (blocked_ + ended_ == all_cores()) {
      stuck_ = true;
      changed_.notify_all();
    }
    changed_.wait(lock, [this, mine = turn_] { return turn_ != mine || stuck_; });
    if (!stuck_) continue;
    // A block that ended because of a mistake has reported it.
    if (reports_.empty()) {
      const std::string count = std::to_string(ended_) + " of " + std::to_string(all_cores());
      reports_.push_back({Kind::sync_all,
                          ended_ > 0 ? "waits for blocks that have ended" : "waits for a flag that no block sets",
                          text_of(at) + ", " + call,
                          is_cube(core) ? core - cores_ : core,
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

const Heard* Launch::wait_flag_of_cores(uint32_t core, uint32_t flag, const Order& order, const Place& at) {
  std::unique_lock<std::mutex> lock(mutex_);
  const std::vector<SingleFlag*> of_group = flags_of_group(core, flag, !is_cube(core));
  uint32_t* const counter = is_cube(core) ? nullptr : &flag_at(flag, at).counter[core];
  const auto of_all = [counter] { return counter != nullptr && *counter > 0; };
  const auto of_both = [&of_group] {
    return std::all_of(of_group.begin(), of_group.end(), [](const SingleFlag* it) { return it->sets > 0; });
  };
  wait_until(lock, [&] { return of_all() || of_both(); }, core, "CrossCoreWaitFlag", at);
  if (of_both()) return learn(order, of_group);
  --*counter;
  return nullptr;
}

void Launch::set(SingleFlag& flag, uint32_t core, const Order& order, const Place& at) {
  ++flag.sets;
  flag.block = core;
  flag.place = at;
  flag.heard.join({order.waits, order.joint, {{core, order.epoch + 1}}});
  if (order.heard != nullptr) flag.heard.join(*order.heard);
}

const Heard* Launch::learn(const Order& order, const std::vector<SingleFlag*>& flags) {
  Heard& heard = heard_.emplace_back();
  if (order.heard != nullptr) heard.join(*order.heard);
  for (SingleFlag* const flag : flags) {
    --flag->sets;
    heard.join(flag->heard);
  }
  return &heard;
}

void Launch::set_flag_at(const int32_t* flag, uint32_t core, const Order& order, const Place& at) {
  const std::lock_guard<std::mutex> lock(mutex_);
  set(single_flags_[flag], core, order, at);
  others_go_on();
}

const Heard* Launch::wait_flag_at(const int32_t* flag, uint32_t core, const Order& order, const Place& at) {
  std::unique_lock<std::mutex> lock(mutex_);
  SingleFlag& of = single_flags_[flag];
  wait_until(lock, [&of] { return of.sets > 0; }, core, "IBWait", at);
  return learn(order, {&of});
}

std::vector<Launch::SingleFlag*> Launch::flags_of_group(uint32_t core, uint32_t flag, bool told_by_cube) {
  auto& flags = told_by_cube ? to_vector_ : to_cube_;
  if (!is_cube(core)) return {&flags[{flag, core}]};
  std::vector<SingleFlag*> all;
  const uint32_t first = (core - cores_) * work_.cores_per_block;
  for (uint32_t i = 0; i < work_.cores_per_block; ++i) all.push_back(&flags[{flag, first + i}]);
  return all;
}

void Launch::set_flag_of_group(uint32_t core, uint32_t flag, const Order& order, const Place& at) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (SingleFlag* const of : flags_of_group(core, flag, is_cube(core))) set(*of, core, order, at);
  others_go_on();
}

void Launch::go_on_together() {
  both_waiting_ = 0;
  ++both_phase_;
  others_go_on();
}

void Launch::sync_both(uint32_t core, const Place& at) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (++both_waiting_ == all_cores() - serving_) return go_on_together();
  wait_until(lock, [this, mine = both_phase_] { return both_phase_ != mine; }, core, "SyncAll", at);
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

}  // namespace opbridge_ascend

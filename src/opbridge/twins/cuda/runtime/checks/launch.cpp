#include "launch.h"

#include <functional>

namespace opbridge_twin::checks {

namespace {

std::atomic<Cell> next_run{1};
std::atomic<uint64_t> launches{0};

// Of "[with T = float; Pair<T> = std::pair<float, float>]" the kernel's own: compilers also spell out what each type of
// its parameters stands for.
std::string own_arguments(const std::string& with) {
  std::string kept;
  size_t begin = 0;
  int depth = -1;  // the bracket in front
  for (size_t i = 0; i < with.size(); ++i) {
    const char c = with[i];
    depth += (c == '[' || c == '(' || c == '<') - (c == ']' || c == ')' || c == '>');
    if ((c != ';' || depth > 0) && i + 1 < with.size()) continue;
    const std::string one = with.substr(begin, i - begin);
    const size_t value = one.find(" = ");
    if (value == std::string::npos || one.rfind('<', value) == std::string::npos)
      kept += (kept.empty() ? "" : ";") + one;
    begin = i + 1;
  }
  return kept.empty() ? "" : kept + "]";
}

}  // namespace

std::string short_name(const std::string& name) {
  const size_t parameters = name.find('(');
  if (parameters == std::string::npos) return name;
  const std::string anonymous = "{anonymous}::";
  const size_t result = name.rfind(' ', parameters);
  size_t begin = result == std::string::npos ? 0 : result + 1;
  if (name.compare(begin, anonymous.size(), anonymous) == 0) begin += anonymous.size();
  const size_t with = name.find(" [with ", parameters);
  return name.substr(begin, parameters - begin) + (with == std::string::npos ? "" : own_arguments(name.substr(with)));
}

bool runs_are_used_up() { return next_run.load(std::memory_order_relaxed) > kMostRun - kMostRun / 4; }
void count_runs_anew() { ob_twin_count_runs_from(1); }

Cell next_run_number() { return std::min(next_run.load(std::memory_order_relaxed), kMostRun); }

Cell take_run_number() { return std::min(next_run.fetch_add(1, std::memory_order_relaxed), kMostRun); }

Launch::Launch(const LaunchInfo& info, Concurrent beside)
    : info(info),
      kernel(short_name(info.kernel)),
      number(++launches),
      beside(std::move(beside)),
      floor_(next_run_number() << kRunShift) {}

Cell Launch::new_run(uint64_t block) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Cell run = take_run_number();
  blocks_.emplace_back(run, block);
  return run;
}

std::optional<uint64_t> Launch::block_of(Cell run) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = std::lower_bound(blocks_.begin(), blocks_.end(), std::make_pair(run, uint64_t{0}));
  if (found == blocks_.end() || found->first != run) return std::nullopt;
  return found->second;
}

void Launch::raise_floor() { floor_.store(next_run_number() << kRunShift, std::memory_order_relaxed); }

void Launch::publish(uint64_t block, Publication publication) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Publication>& made = publications_[block];
  for (const Publication& earlier : made) {
    if (earlier.run == publication.run && earlier.thread == publication.thread && earlier.clock == publication.clock &&
        earlier.barrier_clock == publication.barrier_clock && earlier.known == publication.known &&
        earlier.narrow <= publication.narrow) {
      return;  // the earlier one reaches more readers
    }
  }
  publication.time = time_.load(std::memory_order_relaxed);
  made.push_back(publication);
  time_.fetch_add(1, std::memory_order_release);
}

bool Launch::published(uint64_t block, Cell cell, uint64_t time, bool to_its_block) const {
  if (time == 0) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto made = publications_.find(block);
  if (made == publications_.end()) return false;
  return std::any_of(made->second.begin(), made->second.end(), [&](const Publication& publication) {
    if (publication.time >= time || (publication.narrow && !to_its_block)) return false;
    if (run_of(cell) != publication.run) return run_of(cell) < publication.run;
    if (clock_of(cell) < publication.barrier_clock) return true;
    if (thread_of(cell) == publication.thread) return clock_of(cell) < publication.clock;
    return publication.known != nullptr && thread_of(cell) / kWarp == publication.thread / kWarp &&
           clock_of(cell) < (*publication.known)[thread_of(cell) % kWarp];
  });
}

bool Launch::knows_same_value(uint64_t places) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return same_values_.count(places) > 0;
}
bool Launch::notes_same_value(uint64_t places) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return same_values_.insert(places).second;
}
void Launch::forgets_same_value(uint64_t places) {
  const std::lock_guard<std::mutex> lock(mutex_);
  same_values_.erase(places);
}

bool Launch::is_new(Kind note, uint64_t places) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return notes_.insert({note, places}).second;
}

void Launch::found(Report report) {
  if (info.checked_blocks < info.grid.count()) {
    report.details.emplace_back(
        "checked", std::to_string(info.checked_blocks) + " of " + std::to_string(info.grid.count()) + " blocks");
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (is_fatal(report.kind) && report.block < failed_block_.load()) failed_block_.store(report.block);
  const std::string key = std::to_string(static_cast<int>(report.kind)) + report.same_as;
  const auto [known, is_new] = reports_.try_emplace(key, report);
  if (!is_new && report < known->second) known->second = std::move(report);
}

int Launch::deliver() {
  std::vector<Report> shown;
  for (const auto& [key, report] : reports_) {
    if (report.compared_read != 0 && is_compared_read(report.compared_read)) continue;
    // Blocks after the first that failed may have run or not; only what comes every time is said.
    if (report.block <= failed_block_ && !(is_fatal(report.kind) && report.block != failed_block_)) {
      shown.push_back(report);
    }
  }
  std::sort(shown.begin(), shown.end());
  // Of a launch that is wrong nobody wants notes: a sum that races may well add zeros.
  const auto is_note = [](const Report& report) { return cuda_error(report.kind) == 0; };
  const auto notes = std::stable_partition(shown.begin(), shown.end(), std::not_fn(is_note));
  if (notes != shown.begin()) shown.erase(notes, shown.end());
  int error = 0;
  for (const Report& report : shown) {
    opbridge_twin::deliver(report);
    if (error == 0 || is_fatal(report.kind)) error = cuda_error(report.kind);
  }
  return error;
}

void Block::begin(Launch* launch, uint64_t linear) {
  launch_ = launch;
  linear_ = linear;
  const size_t threads = launch->info.block.count();
  if (threads_.size() != threads || std::exchange(any_looked_, false)) threads_.assign(threads, Thread());
  if (warps_.size() != (threads + kWarp - 1) / kWarp) {
    warps_.resize((threads + kWarp - 1) / kWarp);
    untouched_ = false;
  }
  first_run_ = run_ = launch->new_run(linear);
  reset_clocks();
  seen_at_barrier_ = most_seen_ = 0;
  for (BlockFence& fence : block_fences_) fence = {};
  some_look_ = false;
}

void Block::reset_clocks() {
  barrier_clock_ = most_clock_ = 0;
  for (BlockFence& fence : block_fences_) fence.barrier = 0;
  if (untouched_) return;
  for (Thread& thread : threads_) {
    thread.clock = 0;
    for (Fence& fence : thread.fences) fence = {};
  }
  for (Warp& warp : warps_) warp.used = false;
  untouched_ = true;
}

void Block::begin_new_run() {
  run_ = launch_->new_run(linear_);
  reset_clocks();
}

Cell Block::stamp(uint32_t thread) const {
  return run_ << kRunShift | Cell{clock(thread)} << kClockShift | Cell{thread} << kThreadShift;
}

// Thousands of meetings of lanes or fences and no barrier: what was before counts as ordered from here on, so that
// races with it are missed, and none is invented.
void Block::leave_room_for_clocks() {
  if (most_clock_ < kMostClock) return;
  for (BlockFence& fence : block_fences_) fence.at_barrier = fence.at_barrier || fence.since_barrier;
  begin_new_run();
}

void Block::barrier_passed() {
  if (std::exchange(some_look_, false)) most_seen_ = launch_->time();
  seen_at_barrier_ = most_seen_;
  if (most_clock_ > kMostClock / 2) {
    begin_new_run();
  } else {
    barrier_clock_ = ++most_clock_;
  }
  for (BlockFence& fence : block_fences_) {
    if (std::exchange(fence.since_barrier, false)) fence = {false, true, barrier_clock_};
  }
}

void Block::warp_synced(uint32_t warp, uint32_t lanes) {
  leave_room_for_clocks();
  untouched_ = false;
  Warp& state = warps_[warp];
  if (!state.used) {
    state.used = true;
    for (auto& row : state.known) row.fill(0);
  }
  share_looks(warp, lanes);
  const uint32_t first = warp * kWarp;
  LaneClocks joined{};
  for (uint32_t lane = 0; lane < kWarp; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    for (uint32_t other = 0; other < kWarp; ++other) joined[other] = std::max(joined[other], state.known[lane][other]);
  }
  for (uint32_t lane = 0; lane < kWarp && first + lane < threads(); ++lane) {
    if (lanes >> lane & 1) joined[lane] = threads_[first + lane].clock = clock(first + lane) + 1;
  }
  for (uint32_t lane = 0; lane < kWarp; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    state.known[lane] = joined;
    most_clock_ = std::max(most_clock_, joined[lane]);
  }
}

// What one lane has seen, all of them have that meet it.
void Block::share_looks(uint32_t warp, uint32_t lanes) {
  if (!any_looked_) return;
  const uint32_t first = warp * kWarp, end = std::min(first + kWarp, threads());
  for (const Look look : {Look::of_block, Look::ordered}) {
    uint64_t most = 0;
    for (uint32_t t = first; t < end; ++t) {
      if (lanes >> (t - first) & 1) most = std::max(most, seen(t, look));
    }
    for (uint32_t t = first; t < end; ++t) {
      if (lanes >> (t - first) & 1) threads_[t].seen[static_cast<size_t>(look)] = most;
    }
  }
}

void Block::fence(uint32_t thread, bool narrow) {
  leave_room_for_clocks();
  untouched_ = false;
  Thread& self = threads_[thread];
  self.clock = clock(thread) + 1;
  most_clock_ = std::max(most_clock_, self.clock);
  const Warp& warp = warps_[thread / kWarp];
  const auto known = warp.used ? std::make_shared<const LaneClocks>(warp.known[thread % kWarp]) : nullptr;
  for (int wide = 0; wide <= (narrow ? 0 : 1); ++wide) {
    self.fences[wide] = {self.clock, barrier_clock_, known};
    block_fences_[wide].since_barrier = true;
  }
  // What it has looked at before is in order from here on.
  constexpr auto kRelaxed = static_cast<size_t>(Look::relaxed), kOrdered = static_cast<size_t>(Look::ordered);
  if (narrow) return;
  self.looks[kOrdered] = self.looks[kOrdered] || self.looks[kRelaxed];
  self.seen[kOrdered] = std::max(self.seen[kOrdered], self.seen[kRelaxed]);
}

Publication Block::publication(uint32_t thread, bool narrow) const {
  const Fence& fence = threads_[thread].fences[narrow ? 0 : 1];
  const uint32_t barrier = std::max(fence.barrier, block_fences_[narrow ? 0 : 1].barrier);
  return {run_, thread, fence.clock, barrier, 0, narrow, fence.known};
}

void Block::publish(uint32_t thread, bool narrow) {
  const auto has_fence = [&](int wide) {
    return threads_[thread].fences[wide].clock != 0 || block_fences_[wide].at_barrier;
  };
  const bool tells_all = !narrow && has_fence(1);
  if (tells_all) launch_->publish(linear_, publication(thread, false));
  const bool is_later = threads_[thread].fences[0].clock != threads_[thread].fences[1].clock ||
                        block_fences_[0].barrier != block_fences_[1].barrier;
  if (has_fence(0) && (!tells_all || is_later)) launch_->publish(linear_, publication(thread, true));
}

void Block::acquire(uint32_t thread, Look look) {
  threads_[thread].looks[static_cast<size_t>(look)] = any_looked_ = true;
  some_look_ = some_look_ || look != Look::of_block;
}

uint64_t Block::seen(uint32_t thread, Look look) {
  Thread& self = threads_[thread];
  const auto kind = static_cast<size_t>(look);
  if (std::exchange(self.looks[kind], false)) {
    self.seen[kind] = launch_->time();
    if (look != Look::of_block) most_seen_ = std::max(most_seen_, self.seen[kind]);
  }
  return std::max(self.seen[kind], look == Look::of_block ? 0 : seen_at_barrier_);
}

std::optional<uint64_t> Block::block_of(Cell cell) const {
  return run_of(cell) == run_ ? linear_ : launch_->block_of(run_of(cell));
}

Order Block::ordered(Cell cell, uint64_t block, uint32_t thread) {
  const bool own = block == linear_;
  if (own) {
    if (run_of(cell) != run_ || clock_of(cell) < barrier_clock_) return Order::full;
    const auto other = static_cast<uint32_t>(thread_of(cell));
    if (other == thread) return Order::full;
    const Warp& warp = warps_[thread / kWarp];
    if (other / kWarp == thread / kWarp && warp.used && warp.known[thread % kWarp][other % kWarp] > clock_of(cell)) {
      return Order::full;
    }
  }
  const auto knows = [&](Look look) { return launch_->published(block, cell, seen(thread, look), own); };
  if (knows(Look::ordered) || (own && knows(Look::of_block))) return Order::full;
  return knows(Look::relaxed) ? Order::without_fence : Order::none;
}

}  // namespace opbridge_twin::checks

void ob_twin_count_runs_from(uint64_t run) { opbridge_twin::checks::next_run.store(run, std::memory_order_relaxed); }

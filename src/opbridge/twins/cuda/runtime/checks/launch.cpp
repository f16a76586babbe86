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
        earlier.barrier_clock == publication.barrier_clock) {
      return;  // the earlier one reaches more readers
    }
  }
  publication.time = time_.load(std::memory_order_relaxed);
  made.push_back(publication);
  time_.fetch_add(1, std::memory_order_release);
}

bool Launch::published(uint64_t block, Cell cell, uint64_t time) const {
  if (time == 0) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto made = publications_.find(block);
  if (made == publications_.end()) return false;
  return std::any_of(made->second.begin(), made->second.end(), [&](const Publication& publication) {
    if (publication.time >= time) return false;
    if (run_of(cell) != publication.run) return run_of(cell) < publication.run;
    if (clock_of(cell) < publication.barrier_clock) return true;
    return thread_of(cell) == publication.thread && clock_of(cell) < publication.clock;
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
  fence_since_barrier_ = fence_at_barrier_ = some_look_ = false;
}

void Block::reset_clocks() {
  barrier_clock_ = most_clock_ = fenced_barrier_ = 0;
  if (untouched_) return;
  for (Thread& thread : threads_) thread.clock = thread.fence_clock = thread.fence_barrier = 0;
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
  fence_at_barrier_ = fence_at_barrier_ || fence_since_barrier_;
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
  if (fence_since_barrier_) {
    fence_since_barrier_ = false;
    fence_at_barrier_ = true;
    fenced_barrier_ = barrier_clock_;
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
  const uint32_t first = warp * kWarp;
  std::array<uint32_t, kWarp> joined{};
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

void Block::fence(uint32_t thread) {
  leave_room_for_clocks();
  untouched_ = false;
  fence_since_barrier_ = true;
  Thread& self = threads_[thread];
  self.fence_barrier = barrier_clock_;
  self.fence_clock = self.clock = clock(thread) + 1;
  most_clock_ = std::max(most_clock_, self.clock);
}

void Block::publish(uint32_t thread) {
  const Thread& self = threads_[thread];
  if (self.fence_clock == 0 && !fence_at_barrier_) return;
  launch_->publish(linear_, {run_, thread, self.fence_clock, std::max(self.fence_barrier, fenced_barrier_), 0});
}

void Block::acquire(uint32_t thread) { threads_[thread].looks = some_look_ = any_looked_ = true; }

uint64_t Block::seen(uint32_t thread) {
  Thread& self = threads_[thread];
  if (self.looks) {
    self.looks = false;
    self.seen = launch_->time();
    most_seen_ = std::max(most_seen_, self.seen);
  }
  return std::max(self.seen, seen_at_barrier_);
}

std::optional<uint64_t> Block::block_of(Cell cell) const {
  return run_of(cell) == run_ ? linear_ : launch_->block_of(run_of(cell));
}

bool Block::ordered(Cell cell, uint64_t block, uint32_t thread) {
  if (block == linear_) {
    if (run_of(cell) != run_ || clock_of(cell) < barrier_clock_) return true;
    const auto other = static_cast<uint32_t>(thread_of(cell));
    if (other == thread) return true;
    const Warp& warp = warps_[thread / kWarp];
    if (other / kWarp == thread / kWarp && warp.used && warp.known[thread % kWarp][other % kWarp] > clock_of(cell)) {
      return true;
    }
  }
  return launch_->published(block, cell, seen(thread));
}

}  // namespace opbridge_twin::checks

void ob_twin_count_runs_from(uint64_t run) { opbridge_twin::checks::next_run.store(run, std::memory_order_relaxed); }

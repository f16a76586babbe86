#include "launch.h"

#include <functional>

namespace opbridge_twin::checks {

namespace {

// Numbers are unique because each is taken by one fetch_add; nothing else is derived from them, so relaxed is enough.
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
  // A wrong launch gets no notes: a sum that races may well add zeros.
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

}  // namespace opbridge_twin::checks

void ob_twin_count_runs_from(uint64_t run) { opbridge_twin::checks::next_run.store(run, std::memory_order_relaxed); }

#include "streams.h"

#include <algorithm>
#include <utility>

#include "checks.h"

namespace opbridge_twin::checks {

StreamOrder& stream_order = *new StreamOrder;

namespace {

// What is older than so many changes between streams counts as done.
constexpr size_t kMostOpen = 4096;

// What a null stream stands for on this thread.
thread_local const void* default_now = nullptr;

bool is_legacy(const void* handle) { return reinterpret_cast<uintptr_t>(handle) <= 1; }

}  // namespace

const Work* Concurrent::of_run(Cell run) const {
  const auto after =
      std::upper_bound(all_.begin(), all_.end(), run, [](Cell at, const Work& work) { return at < work.first_run; });
  return after == all_.begin() || run >= std::prev(after)->end_run ? nullptr : &*std::prev(after);
}

void StreamOrder::made(const void* stream, bool blocking) {
  const std::lock_guard<std::mutex> lock(mutex_);
  others_.insert_or_assign(stream, Stream{next_number_++, blocking});
}

void StreamOrder::gone(const void* stream) {
  host_waits_for_stream(stream);  // nobody can from now on
  const std::lock_guard<std::mutex> lock(mutex_);
  others_.erase(stream);
  exempt_.erase(stream);
}

void StreamOrder::exempt(const void* stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  exempt_.insert(stream);
}

bool StreamOrder::has_streams() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return others_.size() > exempt_.size();
}

void StreamOrder::join(Clock& into, const Clock& other) {
  for (const auto& [stream, epoch] : other) into[stream] = std::max(into[stream], epoch);
}

bool StreamOrder::knows(const Clock& clock, const Work& work) {
  const auto found = clock.find(work.stream);
  return found != clock.end() && found->second >= work.epoch;
}

StreamOrder::Stream& StreamOrder::stream_of(const void* handle) {
  if (handle == nullptr) handle = default_now;
  if (is_legacy(handle)) return default_;
  const auto [found, is_new] = others_.try_emplace(handle, Stream{next_number_, true});
  if (is_new) ++next_number_;
  return found->second;
}

// The stream, with what the rules for the default stream order before its next work.
StreamOrder::Stream& StreamOrder::ready(const void* handle) {
  Stream& stream = stream_of(handle);
  join(stream.knows, host_);
  if (&stream == &default_) {
    for (auto& [other_handle, other] : others_) {
      if (other.blocking) join(stream.knows, told_by(other));
    }
  } else if (stream.blocking) {
    join(stream.knows, told_by(default_));
  }
  return stream;
}

// What is done when all of the stream's work so far is; what comes later belongs to another epoch.
StreamOrder::Clock StreamOrder::told_by(Stream& stream) {
  Clock clock = stream.knows;
  clock[stream.number] = stream.epoch++;
  return clock;
}

void StreamOrder::host_learns(const Clock& clock) {
  join(host_, clock);
  const auto is_known = [this](const Work& work) { return knows(host_, work); };
  open_.erase(std::remove_if(open_.begin(), open_.end(), is_known), open_.end());
}

void StreamOrder::recorded(const void* event, const void* stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  events_[event] = told_by(ready(stream));
}

void StreamOrder::waits(const void* stream, const void* event) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = events_.find(event);
  if (found != events_.end()) join(ready(stream).knows, found->second);
}

void StreamOrder::host_waits_for_stream(const void* stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!open_.empty()) host_learns(told_by(ready(stream)));
}

void StreamOrder::host_waits_for_event(const void* event) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = events_.find(event);
  if (found != events_.end()) host_learns(found->second);
}

void StreamOrder::host_waits_for_all() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (open_.empty()) return;
  Clock all = told_by(default_);
  for (auto& [handle, stream] : others_) join(all, told_by(stream));
  host_learns(all);
}

std::optional<Work> StreamOrder::open_work(Cell run) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Work& work : open_) {
    if (run >= work.first_run && run < work.end_run) return work;
  }
  return std::nullopt;
}

Concurrent StreamOrder::begin(const void* stream, Cell run) {
  const std::lock_guard<std::mutex> lock(mutex_);
  counts_ = exempt_.count(stream == nullptr ? default_now : stream) == 0;
  if (!counts_) return {};
  const Stream& self = ready(stream);
  std::vector<Work> concurrent;
  for (const Work& work : open_) {
    if (work.stream != self.number && !knows(self.knows, work)) concurrent.push_back(work);
  }
  const bool goes_on = !open_.empty() && open_.back().stream == self.number && open_.back().epoch == self.epoch &&
                       open_.back().end_run == run;
  if (!goes_on) open_.push_back({run, run, self.number, self.epoch, false});
  if (open_.size() > kMostOpen) open_.pop_front();
  return Concurrent(std::move(concurrent));
}

void StreamOrder::end(Cell run, bool publishes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (open_.empty() || !std::exchange(counts_, false)) return;
  open_.back().end_run = run;
  open_.back().publishes = open_.back().publishes || publishes;
}

void StreamOrder::forget_runs() {
  const std::lock_guard<std::mutex> lock(mutex_);
  open_.clear();
}

void stream_made(const void* stream, bool blocking) { stream_order.made(stream, blocking); }
void stream_gone(const void* stream) { stream_order.gone(stream); }
void event_recorded(const void* event, const void* stream) { stream_order.recorded(event, stream); }
void stream_waits(const void* stream, const void* event) { stream_order.waits(stream, event); }
void host_waits_for_stream(const void* stream) { stream_order.host_waits_for_stream(stream); }
void host_waits_for_event(const void* event) { stream_order.host_waits_for_event(event); }
void host_waits_for_all() { stream_order.host_waits_for_all(); }

OnStream::OnStream(const void* stream) : before_(default_now) {
  if (stream != nullptr) default_now = stream;
}
OnStream::~OnStream() { default_now = before_; }

}  // namespace opbridge_twin::checks

void ob_twin_order_unseen(const void* stream) { opbridge_twin::checks::stream_order.exempt(stream); }

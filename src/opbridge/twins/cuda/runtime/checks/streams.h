// Finds the work of other streams that nothing orders before a piece of work, from the calls of the program, not from
// time.
#ifndef OPBRIDGE_TWIN_CHECKS_STREAMS_H
#define OPBRIDGE_TWIN_CHECKS_STREAMS_H

#include <stdint.h>

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "state.h"

namespace opbridge_twin::checks {

// One or more launches and copies of a stream, by the runs that stand in cells for what they touched.
struct Work {
  Cell first_run;
  Cell end_run;
  uint64_t stream;
  uint64_t epoch;
  bool publishes;  // hands over what it writes by fences and atomics, while it runs
};

// The work that may run at the same time as a piece of work that begins.
class Concurrent {
 public:
  Concurrent() = default;
  explicit Concurrent(std::vector<Work> all) : all_(std::move(all)) {}
  bool none() const { return all_.empty(); }
  // Cells below this do not contain this work.
  Cell floor() const { return all_.empty() ? ~Cell{0} : all_.front().first_run << kRunShift; }
  // What a run belongs to; null where it is ordered.
  const Work* of_run(Cell run) const;

 private:
  std::vector<Work> all_;  // rising
};

class StreamOrder {
 public:
  void made(const void* stream, bool blocking);
  void gone(const void* stream);
  // One that is used in an order which the checks do not see.
  void exempt(const void* stream);
  bool has_streams();

  void recorded(const void* event, const void* stream);
  void waits(const void* stream, const void* event);
  void host_waits_for_stream(const void* stream);
  void host_waits_for_event(const void* event);
  void host_waits_for_all();
  // The work that a run belongs to, where the host has not waited for it.
  std::optional<Work> open_work(Cell run);

  // Work with the runs from `run` on.
  Concurrent begin(const void* stream, Cell run);
  void end(Cell run, bool publishes);
  void forget_runs();

 private:
  // For each stream, the epoch up to which its work is done.
  using Clock = std::map<uint64_t, uint64_t>;
  struct Stream {
    uint64_t number;
    bool blocking;  // waits for the default stream, and the default stream for it
    uint64_t epoch = 1;
    Clock knows = {};
  };

  static void join(Clock& into, const Clock& other);
  static bool knows(const Clock& clock, const Work& work);
  Stream& stream_of(const void* handle);
  Stream& ready(const void* handle);
  Clock told_by(Stream& stream);
  void host_learns(const Clock& clock);

  std::mutex mutex_;
  uint64_t next_number_ = 1;
  Stream default_{0, false};
  std::map<const void*, Stream> others_;
  std::set<const void*> exempt_;
  std::map<const void*, Clock> events_;
  Clock host_;
  std::deque<Work> open_;  // what the host does not know to be done, rising
  bool counts_ = false;    // the work that runs is the last of it
};

// Never destroyed: streams are used in destructors too.
extern StreamOrder& stream_order;

}  // namespace opbridge_twin::checks

#endif  // OPBRIDGE_TWIN_CHECKS_STREAMS_H

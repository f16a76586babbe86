// What the checks say, and how it comes to the user.
#ifndef OPBRIDGE_TWIN_REPORT_H
#define OPBRIDGE_TWIN_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <utility>
#include <vector>

namespace opbridge_twin {

// Every kind of finding; each has a row in report.cpp.
enum class Kind : uint8_t {
  out_of_bounds,
  use_after_free,
  null_pointer,
  host_memory,
  constant_write,
  device_memory,
  device_function,
  shared_race,
  global_race,
  stream_race,
  host_race,
  same_value,
  volatile_sync,
  missing_fence,
  unset_shared,
  copy_in_flight,
  proxy_fence,
  unset_global,
  unset_local,
  misaligned,
  index,
  division_by_zero,
  bad_free,
  copy_size,
  copy_direction,
  divergent_barrier,
  early_return,
  lane_not_in_mask,
  lane_never_comes,
  shared_size,
  trap,
  bad_call,
  endless,
  bad_launch,
  unchecked_error,
  leak,
};

// One finding with everything that printing it needs.
struct Report {
  Kind kind;
  std::string subject;  // the kernel, or the host function
  std::string what;     // one sentence
  std::vector<std::pair<std::string, std::string>> details;
  // Findings of one launch differ by their kind and this; only the first of each is shown.
  std::string same_as;
  uint64_t block = 0;
  uint32_t thread = 0;
  // The number of the place of a plain read that is right if an atomic later compares its value.
  uint64_t compared_read = 0;
  // What the author does about it, where that is not the same for all of its kind.
  std::string advice = {};

  bool operator<(const Report& other) const;
};

// The CUDA error a launch ends with when this is found, 0 for a mere note.
int cuda_error(Kind kind);
// Whether the thread cannot go on after it.
bool is_fatal(Kind kind);

// Returns a place in the code as text for a report, which becomes "sum.cu:12" when the report is shown.  The lookup
// starts another program, so it runs only for reports that are shown.
std::string place(const void* return_address);
// The same for a place that is known already.
std::string place(const char* file, unsigned line);
// Places looked up.
std::string with_places(const std::string& text);

// Shows a report: on stderr, and to a host that asks.  One that was shown already is counted only.
void deliver(const Report& report);

}  // namespace opbridge_twin

#endif  // OPBRIDGE_TWIN_REPORT_H

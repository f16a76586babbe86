// What the checks say, and how it comes to the user.
#ifndef OPBRIDGE_ASCEND_REPORT_H
#define OPBRIDGE_ASCEND_REPORT_H

#include <opbridge_ascend/place.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace opbridge_ascend {

// Every kind of finding; each has a name and a piece of advice in report.cpp.
enum class Kind : uint8_t {
  out_of_bounds,
  use_after_free,
  no_memory,
  misaligned,
  bad_parameter,
  uninitialised,
  unset_variable,
  missing_sync,
  unpaired_flag,
  no_event,
  local_budget,
  queue_full,
  queue_empty,
  no_free_tensor,
  wrong_queue,
  unfreed_tensor,
  atomic_left_on,
  sync_all,
  global_race,
  shared_line,
  depends_on_blocks,
  tiling_mismatch,
  assertion,
  division_by_zero,
  bad_launch,
};

// One finding with everything that printing it needs.
struct Report {
  Kind kind;
  std::string what;               // one sentence
  std::string where;              // without the block
  std::optional<uint32_t> block;  // none: of the launch as a whole
  std::vector<std::pair<std::string, std::string>> details;
};

std::string text_of(const Place& place);
std::string text_of(const void* address);

// Shows what a launch has found, each mistake once and by its first block.
void deliver(const char* kernel, std::vector<Report> reports);

}  // namespace opbridge_ascend
#endif

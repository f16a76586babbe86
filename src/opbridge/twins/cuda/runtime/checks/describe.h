// The words in which reports speak of threads and memory.
#ifndef OPBRIDGE_TWIN_CHECKS_DESCRIBE_H
#define OPBRIDGE_TWIN_CHECKS_DESCRIBE_H

#include <stdint.h>

#include <string>

#include "checks.h"
#include "launch.h"
#include "report.h"
#include "state.h"

namespace opbridge_twin::checks {

inline std::string bytes_in_words(size_t bytes) { return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"); }

inline std::string coordinates(uint64_t linear, const Dim& of) {
  const uint64_t x = linear % of.x, y = linear / of.x % of.y, z = linear / of.x / of.y;
  return "(" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ")";
}

inline std::string thread_in_words(const LaunchInfo& launch, uint64_t block, uint32_t thread) {
  return "thread " + coordinates(thread, launch.block) + " of block " + coordinates(block, launch.grid);
}

inline std::string access_in_words(Access access) {
  const char* const atomic = access.is_volatile ? "volatile " : access.atomic ? "atomic " : "";
  return std::string(atomic) + (!access.writes ? "read" : !access.reads ? "write" : "update");
}

std::string hexadecimal(uintptr_t address);

// A report on what the current thread does at this place.
Report report_here(Kind kind, const void* at, std::string what);
// The same for host code.
Report report_on_host(Kind kind, const void* at, std::string what);

// Keeps the report with the launch; ends the block where nothing sensible could follow.
void found(Report report);

}  // namespace opbridge_twin::checks

#endif  // OPBRIDGE_TWIN_CHECKS_DESCRIBE_H

#include "host_access.h"

#include <optional>
#include <string>
#include <utility>

#include "describe.h"
#include "launch.h"
#include "memory.h"
#include "shadow.h"

namespace opbridge_twin::checks {

namespace {

void report_host_access(uintptr_t address, const std::string& what, const void* at) {
  const std::optional<Allocation> allocation = memory.nearest(address);
  Report report = report_on_host(Kind::device_memory, at, what + " of device memory in host code");
  report.details.emplace_back(
      "address", hexadecimal(address) + (allocation ? ", " + allocation->position_of(address) : std::string()));
  deliver(report);
}

// What a kernel may still be doing, because the host has not waited for it.  Kernels that hand over values while they
// run, and host code that polls, know what they do.
void check_host_access(uintptr_t address, size_t bytes, Access access, const void* at) {
  const Cell* const cell = cell_at(address);
  if (cell == nullptr || access.atomic) return;
  const Cell whole = __atomic_load_n(cell, __ATOMIC_ACQUIRE);
  const Cell last = whole == kSplit ? __atomic_load_n(byte_cell_at(address), __ATOMIC_RELAXED) : whole;
  const bool kernel_writes = state_of(last) == kWrite || state_of(last) == kAtomic;
  if (run_of(last) == 0 || is_nobodys(last) || !(kernel_writes || access.writes)) return;
  const std::optional<Work> work = stream_order.open_work(run_of(last));
  if (!work || work->publishes) return;
  const char* const what =
      kernel_writes ? " that a kernel may still be writing" : " that a kernel may still be reading";
  Report report = report_on_host(
      Kind::host_race, at,
      access_in_words(access) + " of " + bytes_in_words(bytes) + what + ": the host has not waited for it");
  report.details.emplace_back("kernel", place(site_address(last & kSiteMask)));
  const std::optional<Allocation> allocation = memory.nearest(address);
  report.details.emplace_back("address", hexadecimal(address) + ", " + allocation->position_of(address));
  deliver(report);
}

}  // namespace

void host_code_access(uintptr_t address, size_t bytes, Access access, const void* at) {
  const bool is_tensor = memory.is_adopted(address);
  if (!is_tensor && !memory.in_device_region(address)) return;
  const std::optional<Allocation> allocation = memory.nearest(address);
  const bool is_open = allocation && allocation->holds(address) && !allocation->freed;
  if (!is_tensor && is_open && allocation->space != Space::device) {
    return check_host_access(address, bytes, access, at);
  }
  report_host_access(address, access_in_words(access) + " of " + bytes_in_words(bytes), at);
}

void host_touched(const void* address, const void* at) {
  report_host_access(reinterpret_cast<uintptr_t>(address), "use", at);
}

}  // namespace opbridge_twin::checks

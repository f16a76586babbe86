#include "wrong_places.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "describe.h"
#include "launch.h"
#include "memory.h"
#include "surroundings.h"

namespace opbridge_twin::checks {

namespace {

void report_stray_of_shared(const Touch& touch) {
  Report report = report_here(Kind::out_of_bounds, touch.at, in_words(touch) + " out of bounds of shared memory");
  // Dynamic shared memory of no bytes begins where all shared memory ends.
  const bool none_given = running_block().launch().info.dynamic_shared_bytes == 0;
  const bool is_of_none = none_given && touch.address >= worker.shared_begin + worker.shared_bytes;
  const std::string position =
      is_of_none ? "where this launch gives no dynamic shared memory" : shared_position_of(touch.address);
  report.details.emplace_back("address", hexadecimal(touch.address) + ", " + position);
  if (is_of_none) report.advice = "give the number of bytes, the third argument of <<<blocks, threads, bytes>>>";
  found(std::move(report));
}

// An address that no allocation holds, in device code.
void report_stray(const Touch& touch, uintptr_t stray) {
  constexpr uintptr_t kNull = 65536;
  constexpr uintptr_t kNear = 65536;
  if (stray - worker.shared_begin + kNear < worker.shared_bytes + 2 * kNear) return report_stray_of_shared(touch);
  if (stray < kNull) {
    Report report = report_here(Kind::null_pointer, touch.at, in_words(touch) + " through a null pointer");
    report.details.emplace_back("address", hexadecimal(touch.address));
    return found(std::move(report));
  }
  const std::optional<Allocation> near = memory.nearest(stray);
  const uintptr_t reach = near ? std::max<uintptr_t>(kNear, near->bytes) : 0;
  const bool meant = near && stray - near->begin + reach < near->bytes + 2 * reach;
  Kind kind = Kind::out_of_bounds;
  std::string what = in_words(touch) + " out of bounds";
  if (near && near->freed && near->holds(stray)) {
    kind = Kind::use_after_free;
    what = in_words(touch) + " of memory that was freed";
  } else if (!meant && !memory.in_device_region(stray)) {
    kind = Kind::host_memory;
    what = in_words(touch) + " of host memory in device code";
  }
  Report report = report_here(kind, touch.at, what);
  if (kind == Kind::host_memory) {
    report.details.emplace_back("address", hexadecimal(touch.address));
  } else {
    report.details.emplace_back("address", where_it_lies(touch));
  }
  if (kind == Kind::use_after_free) report.details.emplace_back("freed", place(near->freed_at));
  found(std::move(report));
}

void report_in_flight(const Touch& touch, const CopyInFlight& copy) {
  const Block& block = *worker.block;
  Report report = report_here(Kind::copy_in_flight, touch.at,
                              in_words(touch) + " of shared memory that an asynchronous copy may still be writing");
  report.details.emplace_back(
      "copy", place(copy.at) + ", " + thread_in_words(block.launch().info, block.linear(), copy.thread));
  report.details.emplace_back("address", where_it_lies(touch));
  if (!running_block().copies.is_committed(copy)) {
    report.advice =
        "end the group of copies (__pipeline_commit, cp.async.commit_group) and wait for it, or use "
        "cp.async.wait_all: only committed groups are waited for";
  }
  found(std::move(report));
}

}  // namespace

bool admit(const Touch& touch, uintptr_t address) {
  if (touch.shared) {
    report_stray_of_shared(touch);
    return false;
  }
  if (memory.admit(address)) return true;
  if (!is_harmless(address)) report_stray(touch, address);
  return false;
}

void report_unset(const Touch& touch, uintptr_t address) {
  if (touch.shared) {
    if (const auto copy = running_block().copies.at(address)) return report_in_flight(touch, *copy);
  }
  if (!touch.shared && !memory.first_unset_read(touch.address)) return;
  Report report = touch.shared ? report_here(Kind::unset_shared, touch.at,
                                             in_words(touch) + " of shared memory that this block has not written")
                               : report_here(Kind::unset_global, touch.at,
                                             in_words(touch) + " of memory that has not been written");
  report.details.emplace_back("address", where_it_lies(touch));
  found(std::move(report));
}

void report_constant(const Touch& touch) {
  Report report = report_here(Kind::constant_write, touch.at, in_words(touch) + " of constant memory");
  report.details.emplace_back("address", where_it_lies(touch));
  found(std::move(report));
}

}  // namespace opbridge_twin::checks

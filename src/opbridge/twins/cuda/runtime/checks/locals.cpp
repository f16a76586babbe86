// Local arrays of device code: which elements have been written, and accesses outside of them.
#include "locals.h"

#include <string.h>

#include "describe.h"

namespace opbridge_twin::checks {

namespace {

bool is_written(const ob_twin_local& local, size_t element) {
  return (local.written[element / 64] >> element % 64 & 1) != 0;
}

void report_unset(const ob_twin_local& local, size_t first, size_t bytes, Access access, const void* at) {
  Report report = report_here(
      Kind::unset_local, at,
      access_in_words(access) + " of " + bytes_in_words(bytes) + " of a local array that the thread has not written");
  report.details.emplace_back("array", "element " + std::to_string(first) + " of `" + local.name + "`");
  found(std::move(report));
}

void report_beside(const ob_twin_local& local, uintptr_t address, size_t bytes, Access access, const void* at) {
  Report report =
      report_here(Kind::out_of_bounds, at,
                  access_in_words(access) + " of " + bytes_in_words(bytes) + " out of bounds of a local array");
  const std::string array = "the " + bytes_in_words(local.bytes) + " of `" + local.name + "`";
  const uintptr_t end = local.begin + local.bytes;
  report.details.emplace_back("array", address < local.begin
                                           ? bytes_in_words(local.begin - address) + " before " + array
                                       : address < end ? bytes_in_words(address - local.begin) + " into " + array
                                                       : bytes_in_words(address - end) + " after the end of " + array);
  report.advice = "keep the index or pointer within the array: a GPU has other local variables there";
  found(std::move(report));
}

// A wide load of elements of which some have been written may be a copy of all.
void note(const ob_twin_local& local, size_t offset, size_t bytes, Access access, const void* at) {
  const size_t first = offset / local.element_bytes;
  const size_t last = (offset + bytes - 1) / local.element_bytes;
  bool any = false;
  for (size_t i = first; access.reads && i <= last && !any; ++i) any = is_written(local, i);
  if (access.reads && !any) report_unset(local, first, bytes, access, at);
  // Said once.
  for (size_t i = first; (access.writes || !any) && i <= last; ++i) local.written[i / 64] |= uint64_t{1} << i % 64;
}

}  // namespace

void local_access(uintptr_t address, size_t bytes, Access access, const void* at) {
  for (const ob_twin_local* local = *worker.locals; local != nullptr; local = local->outer) {
    const size_t offset = address - local->begin;
    if (offset + local->margin >= local->bytes + 2 * local->margin) continue;
    const bool is_inside = offset < local->bytes && bytes <= local->bytes - offset;
    if (!is_inside && local->margin > 0) return report_beside(*local, address, bytes, access, at);
    if (local->written != nullptr && is_inside) note(*local, offset, bytes, access, at);
    return;
  }
}

}  // namespace opbridge_twin::checks

using namespace opbridge_twin::checks;

void ob_twin_local_begins(ob_twin_local* local, const void* array, size_t bytes, size_t element_bytes, size_t margin,
                          uint64_t* written, const char* name) {
  if (worker.locals == nullptr) return;  // host code
  *local = {*worker.locals, reinterpret_cast<uintptr_t>(array), bytes, element_bytes, margin, written, name};
  if (written != nullptr) memset(written, 0, (bytes / element_bytes + 63) / 64 * sizeof *written);
  *worker.locals = local;
}

void ob_twin_local_ends(const ob_twin_local* local) {
  if (worker.locals != nullptr && *worker.locals == local) *worker.locals = local->outer;
}

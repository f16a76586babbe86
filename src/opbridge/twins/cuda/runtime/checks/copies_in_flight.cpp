#include "copies_in_flight.h"

#include <algorithm>
#include <utility>

#include "shadow.h"
#include "state.h"
#include "surroundings.h"

namespace opbridge_twin::checks {

namespace {

constexpr uintptr_t kGranule = 4;

// Reports what races with it as of the copy's own place: that is where the author looks.
void write_again(const CopyInFlight& copy) {
  const void* const before = std::exchange(worker.asm_at, copy.at);
  slow_access(copy.to, copy.bytes, kStore, copy.at);
  worker.asm_at = before;
}

}  // namespace

CopiesInFlight::Thread& CopiesInFlight::of(uint32_t thread) {
  if (threads_.empty()) threads_.resize(worker.block->threads());
  return threads_[thread];
}

// Bytes that share a granule with others' stay as the copy left them.
void CopiesInFlight::begin(uint32_t thread, uintptr_t to, size_t bytes, const void* at) {
  const uintptr_t first = (to + kGranule - 1) & ~(kGranule - 1), last = (to + bytes) & ~(kGranule - 1);
  if (first >= last) return;
  Thread& self = of(thread);
  self.copies.push_back({thread, self.committed, first, last - first, at});
  set_cells(first, last, kUnset);
}

// Empty groups before the block's first copy leave nothing to wait for.
void CopiesInFlight::commit(uint32_t thread) {
  if (!threads_.empty()) ++threads_[thread].committed;
}

void CopiesInFlight::finish_before(Thread& thread, uint32_t group) {
  const auto is_earlier = [group](const CopyInFlight& copy) { return copy.group < group; };
  const auto rest = std::find_if_not(thread.copies.begin(), thread.copies.end(), is_earlier);
  const std::vector<CopyInFlight> done(thread.copies.begin(), rest);
  thread.copies.erase(thread.copies.begin(), rest);
  for (const CopyInFlight& copy : done) write_again(copy);
}

void CopiesInFlight::wait(uint32_t thread, uint32_t prior) {
  if (threads_.empty()) return;
  Thread& self = threads_[thread];
  if (self.committed > prior) finish_before(self, self.committed - prior);
}

void CopiesInFlight::wait_for_all(uint32_t thread) {
  if (!threads_.empty()) finish_before(threads_[thread], UINT32_MAX);
}

void CopiesInFlight::clear() { threads_.clear(); }

std::optional<CopyInFlight> CopiesInFlight::at(uintptr_t address) const {
  for (const Thread& thread : threads_) {
    for (const CopyInFlight& copy : thread.copies) {
      if (copy.holds(address)) return copy;
    }
  }
  return std::nullopt;
}

}  // namespace opbridge_twin::checks

using opbridge_twin::checks::running_block;
using opbridge_twin::checks::worker;

extern "C" {

void ob_twin_copy_begins(const void* to, size_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(to);
  if (worker.block == nullptr || address - worker.shared_begin >= worker.shared_bytes) return;
  const void* const at = worker.asm_at != nullptr ? worker.asm_at : __builtin_return_address(0);
  running_block().copies.begin(worker.thread(), address, bytes, at);
}
void ob_twin_copies_commit() {
  if (worker.block != nullptr) running_block().copies.commit(worker.thread());
}
void ob_twin_copies_wait(unsigned prior) {
  if (worker.block != nullptr) running_block().copies.wait(worker.thread(), prior);
}
void ob_twin_copies_wait_for_all() {
  if (worker.block != nullptr) running_block().copies.wait_for_all(worker.thread());
}
}

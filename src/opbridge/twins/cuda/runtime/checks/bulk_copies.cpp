#include "bulk_copies.h"

#include <algorithm>

#include "describe.h"
#include "shadow.h"
#include "surroundings.h"

namespace opbridge_twin::checks {

namespace {

constexpr uintptr_t kGranule = 4;

std::string thread_of_block(uint32_t thread) {
  const Block& block = *worker.block;
  return thread_in_words(block.launch().info, block.linear(), thread);
}

Cell whole_cell(uintptr_t address) {
  const Cell* const cell = cell_at(address);
  return cell == nullptr ? kAsk : __atomic_load_n(cell, __ATOMIC_RELAXED);
}

// A write of a thread of this block's.
bool is_write(Cell cell) {
  return cell >= worker.block_floor && !is_nobodys(cell) && state_of(cell) == kWrite && !is_bulk(cell & kSiteMask);
}

void report_unfenced(uintptr_t address, Cell write, const void* at) {
  Report report =
      report_here(Kind::proxy_fence, at,
                  "a bulk copy reads shared memory that a thread has written without a proxy fence after it");
  report.details.emplace_back("write", place(site_address(write & kSiteMask)) + ", " +
                                           thread_of_block(static_cast<uint32_t>(thread_of(write))));
  report.details.emplace_back("address", hexadecimal(address) + ", " + shared_position_of(address));
  found(std::move(report));
}

}  // namespace

BulkCopies::Thread& BulkCopies::of(uint32_t thread) {
  if (threads_.empty()) threads_.resize(worker.block->threads());
  return threads_[thread];
}

void BulkCopies::fenced(uint32_t thread) {
  Thread& self = of(thread);
  self.fence = worker.block->stamp(thread);
  self.others = worker.barrier_floor();
}

bool BulkCopies::is_fenced(Cell write, const Thread& reader) const {
  const Thread& writer = threads_[thread_of(write)];
  return write >> kClockShift < writer.fence >> kClockShift || write < reader.others;
}

void BulkCopies::reads(uint32_t thread, uintptr_t from, size_t bytes, const void* at) {
  Thread& self = of(thread);
  const Cell site = site_of(at);
  remember_bulk(site);
  bool is_reported = false;
  for (uint32_t other = 0; other < threads_.size(); ++other) {
    for (const Copy& copy : threads_[other].copies) look_for_writes(other, copy);
  }
  for (uintptr_t address = from; address < from + bytes; address += kGranule) {
    const Cell last = whole_cell(address);
    if (is_reported || !is_write(last) || is_fenced(last, self)) continue;
    report_unfenced(address, last, at);
    is_reported = true;
  }
  self.copies.push_back({self.committed, from, bytes, at});
}

// From now on, a cell that records a write records one that is concurrent with the copy.
void BulkCopies::has_read(uintptr_t from, size_t bytes, const void* at) const {
  set_cells(from, from + bytes, with_state(worker.stamp, kRead) | site_of(at));
}

// What is written while the copy reads.
void BulkCopies::look_for_writes(uint32_t thread, const Copy& copy) const {
  for (uintptr_t address = copy.from; address < copy.from + copy.bytes; address += kGranule) {
    const Cell last = whole_cell(address);
    const bool is_other_copy = is_bulk(last & kSiteMask) && state_of(last) == kWrite;
    if (!is_write(last) && !is_other_copy) continue;
    Report report = report_here(Kind::copy_in_flight, site_address(last & kSiteMask),
                                "write of shared memory that a bulk copy may still be reading");
    const auto writer = static_cast<uint32_t>(thread_of(last));
    report.details = {{"where", place(site_address(last & kSiteMask)) + ", " + thread_of_block(writer)},
                      {"copy", place(copy.at) + ", " + thread_of_block(thread)},
                      {"address", hexadecimal(address) + ", " + shared_position_of(address)}};
    report.advice =
        "let the thread that asked for the copy commit its group and wait (cp.async.bulk.commit_group, "
        "cp.async.bulk.wait_group.read), then a barrier, then write";
    return found(std::move(report));
  }
}

void BulkCopies::commit(uint32_t thread) {
  if (!threads_.empty()) ++threads_[thread].committed;
}

void BulkCopies::wait(uint32_t thread, uint32_t prior) {
  if (threads_.empty()) return;
  Thread& self = threads_[thread];
  if (self.committed <= prior) return;
  const auto is_earlier = [end = self.committed - prior](const Copy& copy) { return copy.group < end; };
  const auto rest = std::find_if_not(self.copies.begin(), self.copies.end(), is_earlier);
  for (auto copy = self.copies.begin(); copy != rest; ++copy) look_for_writes(thread, *copy);
  self.copies.erase(self.copies.begin(), rest);
}

void BulkCopies::end() {
  for (uint32_t thread = 0; thread < threads_.size(); ++thread) {
    for (const Copy& copy : threads_[thread].copies) {
      look_for_writes(thread, copy);
      Report report = report_here(Kind::copy_in_flight, copy.at,
                                  "the block ends while a bulk copy may still be reading its shared memory");
      report.details = {{"copy", place(copy.at) + ", " + thread_of_block(thread)}};
      report.advice =
          copy.group < threads_[thread].committed
              ? "wait for the group before the thread ends: cp.async.bulk.wait_group.read 0"
              : "end the group and wait for it: cp.async.bulk.commit_group, then cp.async.bulk.wait_group.read 0";
      found(std::move(report));
    }
  }
  clear();
}

void BulkCopies::clear() { threads_.clear(); }

}  // namespace opbridge_twin::checks

using opbridge_twin::checks::running_block;
using opbridge_twin::checks::worker;

extern "C" {

void ob_twin_bulk_reads(const void* from, size_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(from);
  if (worker.block == nullptr || address - worker.shared_begin >= worker.shared_bytes) return;
  running_block().bulk.reads(worker.thread(), address, bytes, worker.asm_at);
}
void ob_twin_bulk_has_read(const void* from, size_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(from);
  if (worker.block == nullptr || address - worker.shared_begin >= worker.shared_bytes) return;
  running_block().bulk.has_read(address, bytes, worker.asm_at);
}
void ob_twin_bulk_writes() {
  if (worker.block != nullptr) opbridge_twin::checks::remember_bulk(opbridge_twin::checks::site_of(worker.asm_at));
}
void ob_twin_bulk_commit() {
  if (worker.block != nullptr) running_block().bulk.commit(worker.thread());
}
void ob_twin_bulk_wait(unsigned prior) {
  if (worker.block != nullptr) running_block().bulk.wait(worker.thread(), prior);
}
void ob_twin_proxy_fence() {
  if (worker.block != nullptr) running_block().bulk.fenced(worker.thread());
}
}

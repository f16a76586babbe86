#include "launch.h"

#include <opbridge/pool.h>

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "worker.h"

namespace opbridge_twin {

namespace {

void run_blocks(Launch& launch, uint64_t begin, uint64_t end) {
  try {
    Worker::mine().run(launch, begin, end);
  } catch (const std::bad_alloc&) {
    launch.error = cudaErrorMemoryAllocation;
  }
}

// What is left of the grid, on one OS thread.
void run_rest(void* state, int64_t, int64_t) {
  Launch& launch = *static_cast<Launch*>(state);
  for (uint64_t begin, end; launch.take(begin, end);) run_blocks(launch, begin, end);
}

void run_sample(void* state, int64_t begin, int64_t end) {
  Launch& launch = *static_cast<Launch*>(state);
  for (int64_t i = begin; i < end; ++i) {
    const uint64_t block = (*launch.sample)[static_cast<size_t>(i)];
    run_blocks(launch, block, block + 1);
  }
}

// A block that waits for one that has not begun finds it here, whichever OS thread would have come to it.
void run_grid(Launch& launch) {
  constexpr uint64_t kPieces = 4;  // a thread, so that one slow thread does not hold up the rest
  const auto threads = static_cast<uint64_t>(ob::pool.size());
  launch.piece = threads == 1 ? launch.blocks() : (launch.blocks() - 1) / (threads * kPieces) + 1;
  const uint64_t pieces = (launch.blocks() - 1) / launch.piece + 1;
  ob::pool.run(static_cast<int64_t>(std::min(threads, pieces)), 1, run_rest, &launch);
}

}  // namespace

bool Launch::take(uint64_t& begin, uint64_t& end) {
  if (piece == 0) return false;
  const uint64_t first = next.fetch_add(piece, std::memory_order_relaxed);
  if (first >= blocks()) return false;
  begin = first;
  end = std::min(first + piece, blocks());
  return true;
}

bool Launch::enter() {
  if (resident.fetch_add(1, std::memory_order_relaxed) + 1 < most_resident) return true;
  leave();
  return false;
}

void Children::add(Child child) {
  const std::lock_guard<std::mutex> lock(mutex_);
  all_.push_back(std::move(child));
}

std::vector<Child> Children::take() {
  std::stable_sort(all_.begin(), all_.end(), [](const Child& a, const Child& b) {
    return a.is_tail() != b.is_tail() ? b.is_tail() : a.block < b.block;
  });
  return std::move(all_);
}

void run(Launch& launch, bool sample_alone) {
  if (sample_alone) return ob::pool.run(static_cast<int64_t>(launch.sample->size()), 1, run_sample, &launch);
  if (!launch.cooperative) return run_grid(launch);
  try {
    Worker::mine().run_cooperative(launch);
  } catch (const std::bad_alloc&) {
    launch.error = cudaErrorMemoryAllocation;
  }
}

}  // namespace opbridge_twin

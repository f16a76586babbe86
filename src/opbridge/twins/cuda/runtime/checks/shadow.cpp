#include "shadow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

namespace opbridge_twin::checks {

Cell* directory[kChunks];
Cell* no_directory[kChunks];

namespace {

constexpr size_t kOfGranules = kChunkCells * sizeof(Cell);
constexpr size_t kOfBytes = kChunkBytes * sizeof(Cell);
constexpr size_t kChunkShadowBytes = kOfGranules + kOfBytes;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kPage = 4096;
// From here on it is cheaper to have the pages back from the system, empty, than to write zeros.
constexpr size_t kMuchToClear = size_t{16} << 20;

// Those in the directory, which is too long to look through.  Never destroyed: memory is freed in destructors too.
struct Chunks {
  std::mutex mutex;
  std::vector<Cell*> all;
};
Chunks& chunks = *new Chunks;

// The cells of bytes may not be used yet: few chunks need them, and a process may be limited in memory that it may use.
Cell* new_chunk() {
  const size_t bytes = kChunkShadowBytes + kHugePage;
  void* const memory = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  const uintptr_t aligned = (reinterpret_cast<uintptr_t>(memory) + kHugePage - 1) & ~(kHugePage - 1);
  Cell* const chunk = reinterpret_cast<Cell*>(aligned);
  if (mprotect(chunk, kOfGranules, PROT_READ | PROT_WRITE) == 0) return chunk;
  munmap(memory, bytes);
  return nullptr;
}

std::atomic<bool> has_bytes[kChunks];

void want_bytes(uintptr_t address) {
  std::atomic<bool>& there = has_bytes[chunk_index(address)];
  if (there.load(std::memory_order_acquire)) return;
  Cell* const bytes = byte_cell_at(address & ~(kChunkBytes - 1));
  if (mprotect(bytes, kOfBytes, PROT_READ | PROT_WRITE) != 0) {
    fputs("cuda-twin: the system has no memory for the state of single bytes\n", stderr);
    abort();
  }
  there.store(true, std::memory_order_release);
}

void release_pages(Cell* begin, Cell* end) {
  const uintptr_t first = (reinterpret_cast<uintptr_t>(begin) + kPage - 1) & ~(kPage - 1);
  const uintptr_t last = reinterpret_cast<uintptr_t>(end) & ~(kPage - 1);
  const auto before = reinterpret_cast<Cell*>(first);
  const auto after = reinterpret_cast<Cell*>(last);
  std::fill(begin, before, kAsk);
  madvise(before, last - first, MADV_DONTNEED);
  std::fill(after, end, kAsk);
}

}  // namespace

bool cover(uintptr_t begin, size_t bytes) {
  if (bytes == 0) return true;
  for (size_t i = chunk_index(begin); i <= chunk_index(begin + bytes - 1); ++i) {
    if (__atomic_load_n(&directory[i], __ATOMIC_ACQUIRE) != nullptr) continue;
    const std::lock_guard<std::mutex> lock(chunks.mutex);
    if (directory[i] != nullptr) continue;
    Cell* const chunk = new_chunk();
    if (chunk == nullptr) return false;
    // Large pages pay where the whole chunk will be used; elsewhere they would cost 2 MiB for a variable of four bytes.
    if (bytes >= kChunkBytes) madvise(chunk, kChunkCells * sizeof(Cell), MADV_HUGEPAGE);
    chunks.all.push_back(chunk);
    __atomic_store_n(&directory[i], chunk, __ATOMIC_RELEASE);
  }
  return true;
}

void clear_cells(uintptr_t begin, size_t bytes) {
  const uintptr_t end = (begin + bytes + 3) & ~uintptr_t{3};
  for (uintptr_t at = begin & ~uintptr_t{3}; at < end;) {
    const uintptr_t stop = std::min<uintptr_t>(end, (at & ~(kChunkBytes - 1)) + kChunkBytes);
    if (Cell* const first = cell_at(at)) {
      Cell* const last = first + (stop - at) / 4;
      if (stop - at >= kMuchToClear / 2) {
        release_pages(first, last);
      } else {
        std::fill(first, last, kAsk);
      }
    }
    at = stop;
  }
}

void clear_all_cells() {
  const std::lock_guard<std::mutex> lock(chunks.mutex);
  for (Cell* const chunk : chunks.all) madvise(chunk, kChunkShadowBytes, MADV_DONTNEED);
}

void fill_cells(uintptr_t begin, uintptr_t end, Cell value) {
  const auto set = [value](Cell* cell) {
    Cell expected = kAsk;  // another thread of the machine may have stamped it in the meantime
    __atomic_compare_exchange_n(cell, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  };
  for (uintptr_t at = begin; at < end;) {
    const uintptr_t granule = at & ~uintptr_t{3};
    Cell* const cell = cell_at(granule);
    if (granule == at && at + 4 <= end) {
      set(cell);
      at += 4;
      continue;
    }
    split(granule, cell);
    for (; at < std::min<uintptr_t>(end, granule + 4); ++at) set(byte_cell_at(at));
  }
}

void set_cells(uintptr_t begin, uintptr_t end, Cell value) {
  const uintptr_t first = (begin + 3) & ~uintptr_t{3};
  const uintptr_t last = end & ~uintptr_t{3};
  if (first < last) std::fill(cell_at(first), cell_at(first) + (last - first) / 4, value);
  for (const uintptr_t granule : {begin & ~uintptr_t{3}, last}) {
    if (granule >= begin && granule + 4 <= end) continue;
    if (granule + 4 <= begin || granule >= end) continue;
    want_bytes(granule);
    *cell_at(granule) = kSplit;
    for (uintptr_t byte = granule; byte < granule + 4; ++byte) {
      *byte_cell_at(byte) = byte >= begin && byte < end ? value : kAsk;
    }
  }
}

Cell split(uintptr_t address, Cell* cell) {
  const uintptr_t granule = address & ~uintptr_t{3};
  const Cell whole = __atomic_load_n(cell, __ATOMIC_RELAXED);
  if (whole == kSplit) return kSplit;
  want_bytes(granule);
  for (int i = 0; i < 4; ++i) __atomic_store_n(byte_cell_at(granule + i), whole, __ATOMIC_RELAXED);
  __atomic_store_n(cell, kSplit, __ATOMIC_RELEASE);
  return kSplit;
}

}  // namespace opbridge_twin::checks

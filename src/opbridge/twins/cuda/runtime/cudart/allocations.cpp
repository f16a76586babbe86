#include "allocations.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "engine/host_guard.h"
#include "engine/sampling.h"
#include "state.h"

namespace opbridge_twin {

namespace {

using checks::Space;

constexpr size_t kAlignment = 256;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kLeastGap = size_t{64} << 10;
constexpr size_t kMostGap = size_t{1} << 20;
// Where an index that has become negative leads from the first allocation, there is no memory of the host's.
constexpr size_t kMostBefore = size_t{64} << 30;
// Accessible pages between protected ones cost two of the mappings of a process, usually at most 65,530.
constexpr size_t kMostApart = 16384;
// Address space alone, until it is opened.
constexpr int kUnused = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

size_t page_bytes() {
  static const size_t bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

// Host code that is not watched may write it at any time.
void seen_by_host(const void* begin, size_t bytes) {
  if (hosts_are_unseen()) checks::host_access(begin, bytes, true, "", nullptr);
}

}  // namespace

Memory& memory() {
  static Memory* const one = new Memory;  // its users may outlive any order of destruction
  return *one;
}

size_t total_memory() {
  // As much as the largest of chips has, where next to nothing is touched.
  constexpr size_t kOfChips = size_t{192} << 30;
  static const size_t here = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * page_bytes();
  return leaves_blocks_out() ? kOfChips : here;
}

bool Memory::reserve() {
  if (region_ != nullptr) return true;
  // Address space is all it takes, but a process may be limited in that too.
  for (size_t bytes = size_t{1} << 42; bytes >= size_t{1} << 32; bytes >>= 1) {
    void* found = mmap(nullptr, bytes, PROT_NONE, kUnused, -1, 0);
    if (found == MAP_FAILED) continue;
    region_ = static_cast<char*>(found);
    region_bytes_ = bytes;
    first_ = next_ = region_ + std::min(bytes / 4, kMostBefore);
    checks::device_region(region_, region_bytes_);
    return true;
  }
  return false;
}

// Returns addresses for so many bytes of pages and the gap after them; null if none are left.
char* Memory::take(size_t bytes) {
  const size_t gap = bytes < kLeastGap ? kLeastGap : bytes > kMostGap ? kMostGap : bytes;
  const size_t unit = bytes >= kHugePage ? kHugePage : page_bytes();
  for (int round = 0; round < 2; ++round) {
    char* begin = reinterpret_cast<char*>(round_up(reinterpret_cast<uintptr_t>(next_), unit));
    while (begin + bytes + gap <= region_ + region_bytes_) {
      const auto after = live_.upper_bound(begin);
      const char* blocked = nullptr;
      if (after != live_.end() && after->second.pages < begin + bytes + gap) {
        blocked = after->second.pages + after->second.page_bytes;
      }
      if (after != live_.begin()) {
        const Allocation& before = std::prev(after)->second;
        if (before.pages + before.page_bytes + kLeastGap > begin) blocked = before.pages + before.page_bytes;
      }
      if (blocked == nullptr) {
        next_ = begin + bytes + gap;
        return begin;
      }
      begin = reinterpret_cast<char*>(round_up(reinterpret_cast<uintptr_t>(blocked) + kLeastGap, unit));
    }
    next_ = first_;
  }
  return nullptr;
}

// Where the pages of the allocation before an address end, or where the first may begin.
char* Memory::end_before(char* address) {
  const auto here = live_.lower_bound(address);
  if (here == live_.begin() || std::prev(here)->second.pages == nullptr) return first_;
  const Allocation& before = std::prev(here)->second;
  return before.pages + before.page_bytes;
}

// Of more than can lie apart, each continues the mapping before it: what lies between is nobody's to the checks still.
bool Memory::open(char* pages, size_t bytes) {
  char* const from = live_.size() < kMostApart ? pages : end_before(pages);
  return mprotect(from, static_cast<size_t>(pages + bytes - from), PROT_READ | PROT_WRITE) == 0;
}

// The pages go back to the system, the addresses stay taken.
void Memory::close(char* begin, const Allocation& allocation) {
  if (live_.size() > kMostApart) {
    madvise(allocation.pages, allocation.page_bytes, MADV_DONTNEED);
    return;
  }
  char* const from = end_before(begin);
  mmap(from, static_cast<size_t>(allocation.pages + allocation.page_bytes - from), PROT_NONE, kUnused | MAP_FIXED, -1,
       0);
}

cudaError_t Memory::allocate(void** result, size_t bytes, Space space, const char* how, const void* where) {
  if (result == nullptr) return noted(cudaErrorInvalidValue);
  *result = nullptr;
  if (bytes == 0) return cudaSuccess;
  const bool is_of_host = space == Space::pinned;
  if (!is_of_host && bytes > available()) return noted(cudaErrorMemoryAllocation);
  const size_t pages_bytes = round_up(bytes, page_bytes());
  std::lock_guard<std::mutex> hold(guard_);
  if (!reserve()) return noted(cudaErrorMemoryAllocation);
  char* pages = take(pages_bytes);
  if (pages != nullptr && !checks::can_check(pages, pages_bytes)) {
    // The system has no memory for what is known of further addresses: those of freed memory are given again.
    next_ = first_;
    pages = take(pages_bytes);
  }
  if (pages == nullptr || !checks::can_check(pages, pages_bytes)) return noted(cudaErrorMemoryAllocation);
  if (!open(pages, pages_bytes)) return noted(cudaErrorMemoryAllocation);
  if (pages_bytes >= kHugePage) madvise(pages, pages_bytes, MADV_HUGEPAGE);
  // It ends where its pages end, so that what runs over the end is stopped; the host's begins a page.
  char* begin = is_of_host ? pages : pages + (pages_bytes - round_up(bytes, kAlignment));
  live_[begin] = {bytes, space, pages, pages_bytes, false, true};
  if (!is_of_host) used_ += pages_bytes;
  checks::allocated(space, begin, bytes, how, where);
  if (space != Space::device) seen_by_host(begin, bytes);
  *result = begin;
  if (space == Space::device && is_of_main_program(where)) {
    note_program(where);
    open_pages();
    close_all_to_host();
  }
  return cudaSuccess;
}

cudaError_t Memory::free(void* begin, bool of_host, const char* how, const void* where) {
  if (begin == nullptr) return cudaSuccess;
  std::lock_guard<std::mutex> hold(guard_);
  open_pages();
  const auto found = live_.find(static_cast<char*>(begin));
  const bool is_live = found != live_.end();
  if (is_live && (found->second.pages == nullptr || (found->second.space == Space::pinned) != of_host)) {
    return noted(cudaErrorInvalidValue);
  }
  // For memory that is not live, the check reports what it is.
  if (!checks::freed(begin, how, where) || !is_live) return noted(cudaErrorInvalidValue);
  if (found->second.of_graph) {
    found->second.in_use = false;
    graphs_.used -= found->second.bytes;
    return cudaSuccess;
  }
  close(static_cast<char*>(begin), found->second);
  if (!of_host) used_ -= found->second.page_bytes;
  live_.erase(found);
  return cudaSuccess;
}

void Memory::give_to_graph(void* begin, const void* where) {
  std::lock_guard<std::mutex> hold(guard_);
  Allocation& allocation = live_.at(static_cast<char*>(begin));
  allocation.of_graph = true;
  allocation.in_use = false;
  checks::freed(begin, "", where);
}

// `free_first`: what the last launch has left in use is freed, where it would be an error.
cudaError_t Memory::use_in_graph(void* begin, bool free_first, const char* how, const void* where) {
  std::lock_guard<std::mutex> hold(guard_);
  Allocation& allocation = live_.at(static_cast<char*>(begin));
  if (allocation.in_use && !free_first) return noted(cudaErrorInvalidValue);
  if (allocation.in_use) {
    checks::freed(begin, how, where);
    graphs_.used -= allocation.bytes;
  }
  allocation.in_use = true;
  checks::allocated(Space::device, begin, allocation.bytes, how, where);
  graphs_.used += allocation.bytes;
  graphs_.most_used = std::max(graphs_.most_used, graphs_.used);
  graphs_.reserved = std::max(graphs_.reserved, graphs_.used);
  graphs_.most_reserved = std::max(graphs_.most_reserved, graphs_.reserved);
  return cudaSuccess;
}

cudaError_t Memory::adopt(void* begin, size_t bytes, const char* how, const void* where) {
  if (begin == nullptr || bytes == 0) return noted(cudaErrorInvalidValue);
  std::lock_guard<std::mutex> hold(guard_);
  if (!live_.emplace(static_cast<char*>(begin), Allocation{bytes, Space::pinned, nullptr, 0, false, true}).second) {
    return noted(cudaErrorHostMemoryAlreadyRegistered);
  }
  checks::allocated(Space::pinned, begin, bytes, how, where);
  seen_by_host(begin, bytes);
  return cudaSuccess;
}

cudaError_t Memory::release(void* begin, const char* how, const void* where) {
  std::lock_guard<std::mutex> hold(guard_);
  const auto found = live_.find(static_cast<char*>(begin));
  if (found == live_.end() || found->second.pages != nullptr) return noted(cudaErrorHostMemoryNotRegistered);
  checks::freed(begin, how, where);
  live_.erase(found);
  return cudaSuccess;
}

bool Memory::find(const void* address, Allocation& found, const char*& begin) {
  std::lock_guard<std::mutex> hold(guard_);
  const auto after = live_.upper_bound(static_cast<const char*>(address));
  if (after == live_.begin()) return false;
  const auto [first, allocation] = *std::prev(after);
  if (static_cast<size_t>(static_cast<const char*>(address) - first) >= allocation.bytes) return false;
  found = allocation;
  begin = first;
  return true;
}

size_t Memory::available() {
  std::lock_guard<std::mutex> hold(guard_);
  const size_t total = total_memory();
  return used_ < total ? total - used_ : 0;
}

void Memory::free_everything() {
  std::lock_guard<std::mutex> hold(guard_);
  open_pages();
  for (const auto& [begin, allocation] : live_) {
    checks::freed(begin, "cudaDeviceReset", nullptr);
  }
  if (region_ != nullptr) mmap(region_, region_bytes_, PROT_NONE, kUnused | MAP_FIXED, -1, 0);
  live_.clear();
  used_ = 0;
}

void Memory::each(const Visit& visit) {
  std::lock_guard<std::mutex> hold(guard_);
  for (const auto& [begin, allocation] : live_) {
    const bool is_shared = allocation.space == Space::managed || allocation.space == Space::pinned;
    visit(const_cast<char*>(begin), allocation.bytes, is_shared);
  }
}

void Memory::close_to_host() {
  std::lock_guard<std::mutex> hold(guard_);
  close_all_to_host();
}

void Memory::close_all_to_host() {
  if (live_.empty() || !may_close(live_.size(), used_)) return;
  std::vector<Pages> closed;
  for (const auto& [begin, allocation] : live_) {
    if (allocation.space == Space::device) closed.push_back({allocation.pages, allocation.page_bytes});
  }
  close_pages(closed.data(), closed.size());
}

void free_everything() { memory().free_everything(); }
void close_to_host() { memory().close_to_host(); }

bool find_allocation(const void* address, const void*& begin, size_t& bytes) {
  Allocation found;
  const char* first;
  if (!memory().find(address, found, first)) return false;
  begin = first;
  bytes = found.bytes;
  return true;
}

void each_allocation(const Visit& visit) { memory().each(visit); }

}  // namespace opbridge_twin

#include "memory.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "checks/checks.h"
#include "engine/host_guard.h"
#include "engine/sampling.h"
#include "engine/write_record.h"
#include "state.h"
#include "streams.h"

namespace opbridge_twin {

namespace {

using checks::Space;

constexpr size_t kAlignment = 256;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kLeastGap = size_t{64} << 10;
constexpr size_t kMostGap = size_t{1} << 20;
// Where an index that has become negative leads from the first allocation, there is no memory of the host's.
constexpr size_t kMostBefore = size_t{64} << 30;
constexpr size_t kPitch = 512;
// Pages that are open between closed ones cost two of the mappings that a process may have, which mostly are 65,530.
constexpr size_t kMostApart = 16384;
// Address space alone, until it is opened.
constexpr int kUnused = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

size_t page_bytes() {
  static const size_t bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

// Pages of its own, so that the bytes before and behind it can be refused.
struct Allocation {
  size_t bytes;
  Space space;
  char* pages;  // that hold it, in the region
  size_t page_bytes;
  bool of_graph = false;  // its addresses stay taken for the next launch of the graph
  bool in_use = true;
};

// Addresses are taken one after the other, and come back only when all have been used: what was freed stays unreadable,
// and between two allocations lies memory that nobody may touch.
class Memory {
 public:
  cudaError_t allocate(void** result, size_t bytes, Space space, const char* how, const void* where);
  // `of_host`: whether it is for memory of the host's that `allocate` gave, and for no other.
  cudaError_t free(void* memory, bool of_host, const char* how, const void* where);
  // Gives what was allocated to a graph, whose launches use it and free it.
  void give_to_graph(void* memory, const void* where);
  cudaError_t use_in_graph(void* memory, bool free_first, const char* how, const void* where);
  GraphMemory& graphs() { return graphs_; }
  cudaError_t adopt(void* memory, size_t bytes, const char* how, const void* where);
  cudaError_t release(void* memory, const char* how, const void* where);
  // The allocation that an address lies in.
  bool find(const void* memory, Allocation& found, const char*& begin);
  size_t available();
  void free_everything();
  void close_to_host();
  void each(const Visit& visit);

 private:
  void close_all_to_host();
  bool reserve();
  char* take(size_t bytes);
  bool open(char* pages, size_t bytes);
  void close(char* begin, const Allocation& allocation);
  char* end_before(char* address);

  std::mutex guard_;
  char* region_ = nullptr;
  size_t region_bytes_ = 0;
  char* first_ = nullptr;
  char* next_ = nullptr;
  size_t used_ = 0;
  std::map<const char*, Allocation> live_;
  GraphMemory graphs_;
};

Memory& memory() {
  static Memory* const one = new Memory;  // its users may outlive any order of destruction
  return *one;
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

// Addresses for so many bytes of pages and the gap behind them; null where there are none left.
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

// Host code that is not watched may write it at any time.
void seen_by_host(const void* begin, size_t bytes) {
  if (hosts_are_unseen()) checks::host_access(begin, bytes, true, "", nullptr);
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
  // Of anything else than live memory it says what that is.
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

#define OB_TWIN_HERE called_from(__builtin_return_address(0))
// What reports call a function of the API, and where it was called.
#define OB_TWIN_CALL(name) called_as(name), OB_TWIN_HERE

bool is_on_device(const void* side) {
  Allocation found;
  const char* begin;
  return memory().find(side, found, begin) && found.space == Space::device;
}

// What CUDA has not pinned: whoever copies to it waits.
bool is_pageable(const void* side) {
  Allocation found;
  const char* begin;
  return !memory().find(side, found, begin);
}

// What device code copies, as references of Thrust's do, belongs to the launch that runs.
bool may_access(const void* begin, size_t bytes, bool writes, const char* how, const void* where) {
  const auto access = ob_twin_in_kernel() ? checks::host_access : checks::stream_access;
  return access(begin, bytes, writes, how, where);
}

void host_waits() {
  if (!ob_twin_in_kernel()) checks::host_waits_for_stream(nullptr);
}

// Of a side that a copy's direction calls the host's.
bool is_devices_after_all(const void* side, bool writes, const char* how, const void* where) {
  if (!is_on_device(side)) return false;
  checks::copied_in_another_direction(side, writes, how, where);
  return true;
}

cudaError_t copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, const char* how, const void* where) {
  OB_TWIN_REQUIRE_DEVICE();
  if (bytes == 0) return cudaSuccess;
  if (to == nullptr || from == nullptr) return noted(cudaErrorInvalidValue);
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return noted(cudaErrorInvalidMemcpyDirection);
  const bool to_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost;
  const bool from_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice;
  if ((to_host && is_devices_after_all(to, true, how, where)) ||
      (from_host && is_devices_after_all(from, false, how, where))) {
    return noted(cudaErrorInvalidValue);
  }
  if (!may_access(from, bytes, false, how, where)) return noted(cudaErrorInvalidValue);
  if (!may_access(to, bytes, true, how, where)) return noted(cudaErrorInvalidValue);
  open_pages();
  memmove(to, from, bytes);
  memory().close_to_host();
  if (is_on_device(from) != is_on_device(to)) crossed(is_on_device(from), bytes);
  if (is_pageable(to)) host_waits();
  return cudaSuccess;
}

// The host goes on when the copy is done; only where both sides are the device's, it need not wait.
cudaError_t copy_and_wait(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, const char* how,
                          const void* where) {
  const cudaError_t error = copy(to, from, bytes, kind, how, where);
  if (!is_on_device(to) || !is_on_device(from)) host_waits();
  return error;
}

cudaError_t fill(void* begin, int value, size_t bytes, const char* how, const void* where) {
  OB_TWIN_REQUIRE_DEVICE();
  if (bytes == 0) return cudaSuccess;
  if (begin == nullptr) return noted(cudaErrorInvalidValue);
  if (!may_access(begin, bytes, true, how, where)) return noted(cudaErrorInvalidValue);
  open_pages();
  memset(begin, value, bytes);
  memory().close_to_host();
  return cudaSuccess;
}

cudaError_t pin(void** result, size_t bytes, const char* how, const void* where) {
  OB_TWIN_REQUIRE_DEVICE();
  checks::host_waits_for_all();
  return memory().allocate(result, bytes, Space::pinned, how, where);
}

}  // namespace

size_t total_memory() {
  // As much as the largest of chips has, where next to nothing is touched.
  constexpr size_t kOfChips = size_t{192} << 30;
  static const size_t here = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * page_bytes();
  return leaves_blocks_out() ? kOfChips : here;
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

using namespace opbridge_twin;

namespace opbridge_twin {

namespace {
thread_local bool frees_at_launch = false;
}  // namespace

FreesAtLaunch::FreesAtLaunch(bool does) : before_(frees_at_launch) { frees_at_launch = does; }
FreesAtLaunch::~FreesAtLaunch() { frees_at_launch = before_; }

GraphMemory& graph_memory() { return memory().graphs(); }

cudaError_t allocate_for_graph(void** result, size_t bytes, const char* how, const void* where) {
  if (const cudaError_t error = memory().allocate(result, bytes, Space::device, how, where)) return error;
  memory().give_to_graph(*result, where);
  return cudaSuccess;
}

cudaError_t use_in_graph(void* begin, const char* how, const void* where) {
  return memory().use_in_graph(begin, frees_at_launch, how, where);
}

cudaError_t free_in_graph(void* begin, const char* how, const void* where) {
  return memory().free(begin, false, how, where);
}

}  // namespace opbridge_twin

// What gives or takes back memory at once waits for all that runs, as GPUs do.
cudaError_t cudaMalloc(void** result, size_t bytes) {
  OB_TWIN_REQUIRE_DEVICE();
  checks::host_waits_for_all();
  open_pages();
  return memory().allocate(result, bytes, Space::device, OB_TWIN_CALL("cudaMalloc"));
}

cudaError_t cudaMallocAsync(void** result, size_t bytes, cudaStream_t stream) {
  OB_TWIN_REQUIRE_DEVICE();
  if (some_stream_is_captured() && is_captured(stream)) {
    const void* const where = OB_TWIN_HERE;
    if (const cudaError_t error = allocate_for_graph(result, bytes, "cudaMallocAsync", where)) return error;
    return take_down(stream, [memory = *result, where] { return use_in_graph(memory, "cudaMallocAsync", where); });
  }
  return memory().allocate(result, bytes, Space::device, OB_TWIN_CALL("cudaMallocAsync"));
}

cudaError_t cudaMallocManaged(void** result, size_t bytes, unsigned) {
  OB_TWIN_REQUIRE_DEVICE();
  if (bytes == 0) return noted(cudaErrorInvalidValue);
  return memory().allocate(result, bytes, Space::managed, OB_TWIN_CALL("cudaMallocManaged"));
}

cudaError_t cudaMallocPitch(void** result, size_t* pitch, size_t width, size_t height) {
  OB_TWIN_REQUIRE_DEVICE();
  if (pitch == nullptr) return noted(cudaErrorInvalidValue);
  *pitch = round_up(width, kPitch);
  return memory().allocate(result, *pitch * height, Space::device, OB_TWIN_CALL("cudaMallocPitch"));
}

cudaError_t cudaMallocHost(void** result, size_t bytes) { return pin(result, bytes, OB_TWIN_CALL("cudaMallocHost")); }

cudaError_t cudaHostAlloc(void** result, size_t bytes, unsigned) {
  return pin(result, bytes, OB_TWIN_CALL("cudaHostAlloc"));
}

cudaError_t cudaFree(void* begin) {
  OB_TWIN_REQUIRE_DEVICE();
  checks::host_waits_for_all();
  return memory().free(begin, false, OB_TWIN_CALL("cudaFree"));
}

cudaError_t cudaFreeAsync(void* begin, cudaStream_t stream) {
  OB_TWIN_REQUIRE_DEVICE();
  if (some_stream_is_captured() && is_captured(stream)) {
    return take_down(stream, [=, where = OB_TWIN_HERE] { return free_in_graph(begin, "cudaFreeAsync", where); });
  }
  Allocation found;
  const char* first;
  // Others may get the memory from then on, so that it is as if the stream wrote there.
  if (memory().find(begin, found, first) && first == begin) {
    const checks::OnStream on_stream(stream);
    checks::stream_access(begin, found.bytes, true, OB_TWIN_CALL("cudaFreeAsync"));
  }
  return memory().free(begin, false, OB_TWIN_CALL("cudaFreeAsync"));
}

cudaError_t cudaFreeHost(void* begin) { return memory().free(begin, true, OB_TWIN_CALL("cudaFreeHost")); }

cudaError_t cudaHostRegister(void* begin, size_t bytes, unsigned) {
  return memory().adopt(begin, bytes, OB_TWIN_CALL("cudaHostRegister"));
}

cudaError_t cudaHostUnregister(void* begin) { return memory().release(begin, OB_TWIN_CALL("cudaHostUnregister")); }

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  Allocation found;
  const char* begin;
  if (device == nullptr || !memory().find(host, found, begin)) return noted(cudaErrorInvalidValue);
  *device = host;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* available, size_t* total) {
  OB_TWIN_REQUIRE_DEVICE();
  if (available == nullptr || total == nullptr) return noted(cudaErrorInvalidValue);
  *available = memory().available();
  *total = total_memory();
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
  if (attributes == nullptr) return noted(cudaErrorInvalidValue);
  *attributes = {cudaMemoryTypeUnregistered, cudaInvalidDeviceId, nullptr, nullptr};
  Allocation found;
  const char* begin;
  if (!memory().find(address, found, begin)) return cudaSuccess;
  void* same = const_cast<void*>(address);
  attributes->type = found.space == Space::managed  ? cudaMemoryTypeManaged
                     : found.space == Space::pinned ? cudaMemoryTypeHost
                                                    : cudaMemoryTypeDevice;
  attributes->device = 0;
  attributes->devicePointer = same;
  attributes->hostPointer = found.space == Space::device ? nullptr : same;
  return cudaSuccess;
}

cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, int) { return cudaSuccess; }
cudaError_t cudaMemPrefetchAsync(const void*, size_t, int, cudaStream_t) { return cudaSuccess; }

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  report_unchecked_launch();
  return copy_and_wait(to, from, bytes, kind, OB_TWIN_CALL("cudaMemcpy"));
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  const void* const where = OB_TWIN_HERE;
  OB_TWIN_ON_STREAM(stream, copy(to, from, bytes, kind, "cudaMemcpyAsync", where))
}

cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t bytes) {
  return copy(to, from, bytes, cudaMemcpyDeviceToDevice, OB_TWIN_CALL("cudaMemcpyPeer"));
}

cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, cudaStream_t stream) {
  const void* const where = OB_TWIN_HERE;
  OB_TWIN_ON_STREAM(stream, copy(to, from, bytes, cudaMemcpyDeviceToDevice, "cudaMemcpyPeerAsync", where))
}

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind) {
  if (width > to_pitch || width > from_pitch) return noted(cudaErrorInvalidPitchValue);
  for (size_t row = 0; row < height; ++row) {
    const cudaError_t error =
        copy_and_wait(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, width,
                      kind, OB_TWIN_CALL("cudaMemcpy2D"));
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream){
    OB_TWIN_ON_STREAM(stream, cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind))}

cudaError_t cudaMemset(void* begin, int value, size_t bytes) {
  return fill(begin, value, bytes, OB_TWIN_CALL("cudaMemset"));
}

cudaError_t cudaMemsetAsync(void* begin, int value, size_t bytes, cudaStream_t stream) {
  const void* const where = OB_TWIN_HERE;
  OB_TWIN_ON_STREAM(stream, fill(begin, value, bytes, "cudaMemsetAsync", where))
}

cudaError_t cudaMemset2D(void* begin, size_t pitch, int value, size_t width, size_t height) {
  if (width > pitch) return noted(cudaErrorInvalidPitchValue);
  for (size_t row = 0; row < height; ++row) {
    if (const cudaError_t error =
            fill(static_cast<char*>(begin) + row * pitch, value, width, OB_TWIN_CALL("cudaMemset2D"))) {
      return error;
    }
  }
  return cudaSuccess;
}

cudaError_t cudaMemset2DAsync(void* begin, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream){
    OB_TWIN_ON_STREAM(stream, cudaMemset2D(begin, pitch, value, width, height))}

cudaError_t
    ob_twin_copy_symbol(void* to, const void* from, size_t bytes, size_t symbol_bytes, size_t offset, int to_symbol) {
  OB_TWIN_REQUIRE_DEVICE();
  if (offset > symbol_bytes || bytes > symbol_bytes - offset) return noted(cudaErrorInvalidValue);
  host_waits();
  char* target = static_cast<char*>(to) + (to_symbol ? offset : 0);
  const char* source = static_cast<const char*>(from) + (to_symbol ? 0 : offset);
  memmove(target, source, bytes);
  return cudaSuccess;
}

void ob_twin_variable(const void* begin, size_t bytes, const char* name) {
  checks::allocated(Space::variable, begin, bytes, name, OB_TWIN_HERE);
}

void ob_twin_constant(const void* begin, size_t bytes, const char* name) {
  checks::allocated(Space::constant, begin, bytes, name, OB_TWIN_HERE);
}

void ob_twin_ask_for_symbol(const void* symbol) { checks::let_be_written(symbol); }

// For a framework whose tensors are memory of this device; what went wrong on the device does not keep it from these.
extern "C" void* ob_twin_allocate(size_t bytes, const char* how) {
  void* made = nullptr;
  memory().allocate(&made, bytes, Space::device, how, nullptr);
  return made;
}

extern "C" void ob_twin_deallocate(void* begin) { memory().free(begin, false, "a framework", nullptr); }

// What a framework's own operators have written is no more uninitialised.
extern "C" void ob_twin_written(const void* begin, size_t bytes) {
  checks::host_access(begin, bytes, true, "a framework", nullptr);
}

// What a library of CUDA's reads and writes for a program; 0 where the memory is not there.
// Libraries are kernels too: where those do nothing, a library's function fails.
extern "C" int ob_twin_library_access(const void* begin, size_t bytes, int writes, const char* how, const void* where) {
  if (kernels_do_nothing()) return 0;
  open_pages();
  if (writes != 0) library_writes(begin);
  return static_cast<int>(checks::host_access(begin, bytes, writes != 0, how, where));
}

#include "memory.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/util/Exception.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace opbridge::simulated {
namespace {

using c10::CachingAllocator::StatArray;
using c10::CachingAllocator::StatType;
using c10::CachingDeviceAllocator::DeviceStats;

constexpr uint64_t kGranule = 512;  // what a request is rounded up to, in the statistics
constexpr uint64_t kPage = 4096;
constexpr uint64_t kLarge = uint64_t{1} << 20;
constexpr uint64_t kLargeStep = uint64_t{2} << 20;

uint64_t round_up(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }
uint64_t capacity_for(uint64_t bytes) {
  return kKeepsFreedMemory ? round_up(bytes, bytes < kLarge ? kPage : kLargeStep) : bytes;
}

template <class Change>
void count(StatArray& stat, uint64_t capacity, Change change) {
  change(stat[static_cast<size_t>(StatType::AGGREGATE)]);
  change(stat[static_cast<size_t>(capacity < kLarge ? StatType::SMALL_POOL : StatType::LARGE_POOL)]);
}
void increase(StatArray& stat, uint64_t capacity, uint64_t by) {
  count(stat, capacity, [by](auto& one) { one.increase(by); });
}
void decrease(StatArray& stat, uint64_t capacity, uint64_t by) {
  count(stat, capacity, [by](auto& one) { one.decrease(by); });
}

uint64_t total_memory() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// What one device has given out, and what it keeps for the next request.
class Pool {
 public:
  explicit Pool(c10::DeviceIndex device) : device_(device), limit_(total_memory()) {}

  Piece* take(uint64_t bytes);
  void give_back(Piece* memory);
  void release_unused();
  void limit(double fraction);
  DeviceStats stats();
  void reset_accumulated();
  void reset_peak();
  std::pair<size_t, size_t> free_and_total();

 private:
  void release_unused_locked();
  uint64_t limit() const { return is_memory_hollow() ? UINT64_MAX : limit_; }
  uint64_t reserved() const { return static_cast<uint64_t>(stats_.reserved_bytes[0].current); }
  [[noreturn]] void refuse(uint64_t bytes);
  template <class Reset>
  void each_stat(Reset reset);

  const c10::DeviceIndex device_;
  std::mutex mutex_;
  uint64_t limit_;
  std::unordered_map<uint64_t, std::vector<Piece*>> unused_;  // by capacity
  DeviceStats stats_;
};

Piece* Pool::take(uint64_t bytes) {
  const uint64_t capacity = capacity_for(bytes);
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Piece*>& unused = unused_[capacity];
  Piece* memory = nullptr;
  if (!unused.empty()) {
    memory = unused.back();
    unused.pop_back();
  } else {
    if (reserved() + capacity > limit()) {
      ++stats_.num_alloc_retries;
      release_unused_locked();
    }
    if (reserved() + capacity <= limit()) memory = allocate_piece(device_, capacity);
    if (memory == nullptr) refuse(bytes);
    ++stats_.num_device_alloc;
    increase(stats_.segment, capacity, 1);
    increase(stats_.reserved_bytes, capacity, capacity);
  }
  memory->bytes = bytes;
  increase(stats_.allocation, capacity, 1);
  increase(stats_.active, capacity, 1);
  increase(stats_.requested_bytes, capacity, bytes);
  increase(stats_.allocated_bytes, capacity, round_up(bytes, kGranule));
  increase(stats_.active_bytes, capacity, round_up(bytes, kGranule));
  return memory;
}

void Pool::give_back(Piece* memory) {
  const uint64_t capacity = memory->capacity, bytes = memory->bytes;
  const std::lock_guard<std::mutex> lock(mutex_);
  memory->bytes = 0;
  unused_[capacity].push_back(memory);
  decrease(stats_.allocation, capacity, 1);
  decrease(stats_.active, capacity, 1);
  decrease(stats_.requested_bytes, capacity, bytes);
  decrease(stats_.allocated_bytes, capacity, round_up(bytes, kGranule));
  decrease(stats_.active_bytes, capacity, round_up(bytes, kGranule));
  if (!kKeepsFreedMemory) release_unused_locked();
}

void Pool::release_unused() {
  const std::lock_guard<std::mutex> lock(mutex_);
  release_unused_locked();
}

void Pool::release_unused_locked() {
  for (auto& [capacity, unused] : unused_) {
    for (Piece* const memory : unused) {
      free_piece(memory);
      ++stats_.num_device_free;
      decrease(stats_.segment, capacity, 1);
      decrease(stats_.reserved_bytes, capacity, capacity);
    }
    unused.clear();
  }
}

void Pool::refuse(uint64_t bytes) {
  ++stats_.num_ooms;
  const auto mebibytes = [](uint64_t size) { return std::to_string(size >> 20) + " MiB"; };
  C10_THROW_ERROR(OutOfMemoryError,
                  std::string(kName) + ":" + std::to_string(device_) + " is out of memory: tried to allocate " +
                      std::to_string(bytes) + " bytes, of its " + mebibytes(limit_) + " " +
                      mebibytes(static_cast<uint64_t>(stats_.allocated_bytes[0].current)) +
                      " are allocated; delete tensors that are no longer needed, or use a smaller batch. "
                      "The simulated device takes its memory from the host.");
}

void Pool::limit(double fraction) {
  const std::lock_guard<std::mutex> lock(mutex_);
  limit_ = static_cast<uint64_t>(static_cast<double>(total_memory()) * fraction);
}

template <class Reset>
void Pool::each_stat(Reset reset) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (StatArray* const stat :
       {&stats_.allocation, &stats_.segment, &stats_.active, &stats_.inactive_split, &stats_.allocated_bytes,
        &stats_.reserved_bytes, &stats_.active_bytes, &stats_.inactive_split_bytes, &stats_.requested_bytes})
    for (auto& one : *stat) reset(one);
}

DeviceStats Pool::stats() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return stats_;
}

void Pool::reset_accumulated() {
  each_stat([](auto& one) { one.reset_accumulated(); });
  const std::lock_guard<std::mutex> lock(mutex_);
  stats_.num_alloc_retries = stats_.num_ooms = stats_.num_device_alloc = stats_.num_device_free = 0;
}

void Pool::reset_peak() {
  each_stat([](auto& one) { one.reset_peak(); });
}

std::pair<size_t, size_t> Pool::free_and_total() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return {limit_ - std::min(limit_, reserved()), total_memory()};
}

// Never destroyed: tensors may be freed while the process ends.
std::vector<std::unique_ptr<Pool>>& pools() {
  static auto& all = *new std::vector<std::unique_ptr<Pool>>;
  return all;
}
Pool& pool(c10::DeviceIndex device) { return *pools().at(static_cast<size_t>(device)); }

void give_back(void* memory) {
  auto* const given = static_cast<Piece*>(memory);
  pool(static_cast<c10::DeviceIndex>(given->device)).give_back(given);
}

// Allocates memory that the CPU cannot touch outside a kernel, as a device's would be.
struct DeviceMemory final : c10::DeviceAllocator {
  c10::DataPtr allocate(size_t bytes) override {
    const c10::Device device = c10::impl::getDeviceGuardImpl(kDevice)->getDevice();
    if (bytes == 0) return {nullptr, device};
    Piece* const memory = pool(device.index()).take(bytes);
    return {memory->address, memory, &give_back, device};
  }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    memcpy(in_window(to), in_window(from), bytes);
    mark_written(to, bytes);
  }
  bool initialized() override { return !pools().empty(); }
  void emptyCache(c10::MempoolId_t) override {
    for (const auto& one : pools()) one->release_unused();
  }
  // Work is done when its call returns: no memory is in use any more when it is given back.
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  DeviceStats getDeviceStats(c10::DeviceIndex device) override { return pool(device).stats(); }
  void resetAccumulatedStats(c10::DeviceIndex device) override { pool(device).reset_accumulated(); }
  void resetPeakStats(c10::DeviceIndex device) override { pool(device).reset_peak(); }
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) override { return pool(device).free_and_total(); }
};

thread_local c10::DeviceIndex lent_device = -1;

c10::DeleterFnPtr freeing_plain = nullptr;

void free_window(void* window) { give_back(find_piece(window)); }

// In PyTorch's place for memory of the CPU: all goes on to PyTorch's own, but for threads under an OnDevice.
class HostMemory final : public c10::Allocator {
 public:
  explicit HostMemory(c10::Allocator& plain) : plain_(plain) { freeing_plain = plain.raw_deleter(); }

  c10::DataPtr allocate(size_t bytes) override {
    if (lent_device < 0 || bytes == 0) return plain_.allocate(bytes);
    void* const window = in_window(pool(lent_device).take(bytes)->address);
    return {window, window, &free_window, at_cpu_};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_either; }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }

 private:
  static void free_either(void* memory) {
    if (find_piece(memory) != nullptr) return free_window(memory);
    freeing_plain(memory);
  }

  c10::Allocator& plain_;
  const c10::Device at_cpu_{c10::DeviceType::CPU};
};

// Ranges by their beginning, so that an address inside of one is found; under the mutex.
struct Pinned {
  std::mutex mutex;
  std::map<const char*, size_t> bytes_by_begin;
};
Pinned& pinned() {
  static Pinned& state = *new Pinned;
  return state;
}

void free_pinned(void* memory) {
  {
    const std::lock_guard<std::mutex> lock(pinned().mutex);
    pinned().bytes_by_begin.erase(static_cast<char*>(memory));
  }
  free(memory);
}

// Ordinary memory that is known as pinned, so that `is_pinned` is answered truly.
struct PinnedMemory final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    if (bytes == 0) return {nullptr, c10::Device(c10::DeviceType::CPU)};
    void* memory = nullptr;
    TORCH_CHECK_WITH(OutOfMemoryError, posix_memalign(&memory, kPage, bytes) == 0, "cannot allocate ", bytes,
                     " bytes of pinned memory");
    const std::lock_guard<std::mutex> lock(pinned().mutex);
    pinned().bytes_by_begin[static_cast<char*>(memory)] = bytes;
    return {memory, memory, &free_pinned, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_pinned; }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }
};

}  // namespace

void set_up_memory(c10::DeviceIndex devices) {
  for (c10::DeviceIndex device = 0; device < devices; ++device) pools().push_back(std::make_unique<Pool>(device));
  constexpr uint8_t kBeforePlain = 1;
  c10::SetAllocator(kDevice, &device_memory());
  c10::SetCPUAllocator(new HostMemory(*c10::GetCPUAllocator()), kBeforePlain);
}

c10::DeviceAllocator& device_memory() {
  static DeviceMemory& memory = *new DeviceMemory;
  return memory;
}

c10::Allocator& pinned_memory() {
  static PinnedMemory& memory = *new PinnedMemory;
  return memory;
}

bool is_pinned(const void* address) {
  const auto* const byte = static_cast<const char*>(address);
  const std::lock_guard<std::mutex> lock(pinned().mutex);
  auto found = pinned().bytes_by_begin.upper_bound(byte);
  return found != pinned().bytes_by_begin.begin() && byte < (--found)->first + found->second;
}

void limit_memory(c10::DeviceIndex device, double fraction) { pool(device).limit(fraction); }

OnDevice::OnDevice(c10::DeviceIndex device) : before_(lent_device) { lent_device = device; }
OnDevice::~OnDevice() { lent_device = before_; }

bool is_in_window(const c10::DataPtr& data) { return data.get_deleter() == &free_window; }

}  // namespace opbridge::simulated

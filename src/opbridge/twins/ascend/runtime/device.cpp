#include "opbridge_ascend/device.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include "device.h"

namespace opbridge_ascend {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kHugePage = uint64_t{2} << 20;

uint64_t round_up(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

// Two stretches of addresses of one length: of the first nothing can ever be read, and its bytes are in the second.
struct Region {
  char* begin = nullptr;
  char* window = nullptr;
  uint64_t bytes = 0;

  bool holds(const void* address) const {
    return static_cast<uint64_t>(static_cast<const char*>(address) - begin) < bytes;
  }
  bool shows(const void* address) const {
    return static_cast<uint64_t>(static_cast<const char*>(address) - window) < bytes;
  }
};

Region reserve() {
  // Address space is all it takes, but a process may be limited in that too.
  for (uint64_t bytes = uint64_t{1} << 42; bytes >= uint64_t{1} << 32; bytes >>= 1) {
    void* const found = mmap(nullptr, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (found == MAP_FAILED) continue;
    return {static_cast<char*>(found), static_cast<char*>(found) + bytes, bytes};
  }
  return {};
}

// Never destroyed: memory may be freed when the process exits.
struct Devices {
  const Region region = reserve();
  std::shared_mutex mutex;
  char* next = region.begin;
  std::map<const char*, std::unique_ptr<ob_ascend_memory>> by_address;
  std::multimap<uint64_t, char*> unused;  // addresses that were given back, by capacity
  struct sigaction before = {};

  Devices();
  ob_ascend_memory* find(const char* address);
};

Devices& devices() {
  static Devices& state = *new Devices;
  return state;
}

ob_ascend_memory* Devices::find(const char* address) {
  auto found = by_address.upper_bound(address);
  if (found == by_address.begin()) return nullptr;
  ob_ascend_memory* const memory = (--found)->second.get();
  return address < static_cast<char*>(memory->address) + memory->capacity ? memory : nullptr;
}

// What the instruction that faulted was about to do.
struct Access {
  const void* code = nullptr;
  const char* verb = "touches";
};

Access access_of(void* context) {
  const mcontext_t& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  constexpr greg_t kWrite = 2;
  return {reinterpret_cast<const void*>(machine.gregs[REG_RIP]),
          (machine.gregs[REG_ERR] & kWrite) != 0 ? "writes" : "reads"};
#elif defined(__aarch64__)
  return {reinterpret_cast<const void*>(machine.pc), "touches"};
#endif
}

// The process ends here, so that what a signal handler may not do can only cost the rest of the report.
void report(const void* address, void* context) {
  Devices& state = devices();
  const Access access = access_of(context);
  Dl_info code = {};
  const bool known = dladdr(access.code, &code) != 0;
  char memory[128] = "it was given back, or never allocated";
  int device = 0;
  if (state.mutex.try_lock_shared()) {
    if (const ob_ascend_memory* const found = state.find(static_cast<const char*>(address))) {
      device = found->device;
      snprintf(memory, sizeof memory, "byte %td of the %zu bytes at %p",
               static_cast<const char*>(address) - static_cast<const char*>(found->address),
               static_cast<size_t>(found->bytes), found->address);
    }
    state.mutex.unlock_shared();
  }
  char text[1024];
  const int length = snprintf(text, sizeof text,
                              "ascend-twin: the host %s memory of the device npu:%d [host-access]\n"
                              "  where   %s in %s\n"
                              "  memory  %s\n"
                              "  hint    copy it to the host first: tensor.cpu() in Python, aclrtMemcpy in C++\n",
                              access.verb, device, known && code.dli_sname != nullptr ? code.dli_sname : "code",
                              known ? code.dli_fname : "the process", memory);
  if (write(STDERR_FILENO, text, static_cast<size_t>(length)) < 0) return;
}

void on_fault(int signal, siginfo_t* info, void* context) {
  Devices& state = devices();
  if (state.region.holds(info->si_addr)) report(info->si_addr, context);
  // The instruction is tried again, and what was there before us answers.
  sigaction(signal, &state.before, nullptr);
}

Devices::Devices() {
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, &before);
}

char* take_addresses(Devices& state, uint64_t capacity, uint64_t unit) {
  const auto again = state.unused.find(capacity);
  if (again != state.unused.end()) {
    char* const address = again->second;
    state.unused.erase(again);
    return address;
  }
  char* const address = reinterpret_cast<char*>(round_up(reinterpret_cast<uintptr_t>(state.next), unit));
  if (address + capacity > state.region.begin + state.region.bytes) return nullptr;
  // No gap: a process may have few mappings, and neighbours in the window are one.
  state.next = address + capacity;
  return address;
}

char* address_of(const Devices& state, const void* window) {
  return state.region.begin + (static_cast<const char*>(window) - state.region.window);
}

char* window_of(const Devices& state, const void* address) {
  return state.region.window + (static_cast<const char*>(address) - state.region.begin);
}

}  // namespace

Allocation device_allocation_of(const void* address) {
  Devices& state = devices();
  if (!state.region.shows(address)) return {};
  const std::shared_lock<std::shared_mutex> lock(state.mutex);
  const auto* const found = state.find(address_of(state, address));
  if (found == nullptr) return {};
  return {reinterpret_cast<const uint8_t*>(window_of(state, found->address)), found->bytes,
          "memory of npu:" + std::to_string(found->device)};
}

}  // namespace opbridge_ascend

using namespace opbridge_ascend;

ob_ascend_memory* ob_ascend_device_allocate(int32_t device, uint64_t bytes) {
  const uint64_t unit = bytes >= kHugePage ? kHugePage : kPage;
  const uint64_t capacity = round_up(bytes > 0 ? bytes : 1, kPage);
  Devices& state = devices();
  const std::unique_lock<std::shared_mutex> lock(state.mutex);
  char* const address = take_addresses(state, capacity, unit);
  if (address == nullptr) return nullptr;
  char* const window = window_of(state, address);
  if (mprotect(window, capacity, PROT_READ | PROT_WRITE) != 0) {
    state.unused.emplace(capacity, address);
    return nullptr;
  }
  if (capacity >= kHugePage) madvise(window, capacity, MADV_HUGEPAGE);
  auto memory = std::make_unique<ob_ascend_memory>(ob_ascend_memory{address, capacity, bytes, device});
  return (state.by_address[address] = std::move(memory)).get();
}

void ob_ascend_device_free(ob_ascend_memory* memory) {
  if (memory == nullptr) return;
  Devices& state = devices();
  const std::unique_lock<std::shared_mutex> lock(state.mutex);
  char* const address = static_cast<char*>(memory->address);
  const uint64_t capacity = memory->capacity;
  // Replacing the pages returns the memory to the system.
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  mmap(window_of(state, address), capacity, PROT_NONE, kFlags, -1, 0);
  state.by_address.erase(address);
  state.unused.emplace(capacity, address);
}

ob_ascend_memory* ob_ascend_device_find(const void* address) {
  Devices& state = devices();
  const char* const byte = static_cast<const char*>(address);
  if (!state.region.holds(byte) && !state.region.shows(byte)) return nullptr;
  const std::shared_lock<std::shared_mutex> lock(state.mutex);
  return state.find(state.region.holds(byte) ? byte : address_of(state, byte));
}

void* ob_ascend_window(const void* address) {
  const Devices& state = devices();
  return state.region.holds(address) ? window_of(state, address) : const_cast<void*>(address);
}

void* ob_ascend_device_address(const void* window) {
  const Devices& state = devices();
  return state.region.shows(window) ? address_of(state, window) : const_cast<void*>(window);
}

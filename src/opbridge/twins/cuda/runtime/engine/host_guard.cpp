#include "host_guard.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

#include "checks/checks.h"
#include "sampling.h"
#include "worker.h"

namespace opbridge_twin {

namespace {

constexpr size_t kMostAllocations = 64;
constexpr size_t kMostBytes = size_t{64} << 20;
constexpr unsigned kMostTimes = 1000;
constexpr size_t kMostImages = 16;

// What the signal handler looks at, which takes no lock.
std::array<Pages, kMostAllocations> closed;
std::atomic<size_t> closed_count{0};
std::array<std::atomic<const void*>, kMostImages> program;  // where its images begin
std::atomic<unsigned> times{0};
struct sigaction before;
std::mutex closing;

const void* image_of(const void* code) {
  Dl_info found;
  return dladdr(code, &found) != 0 ? found.dli_fbase : nullptr;
}

bool is_of_program(const void* code) {
  const void* const image = image_of(code);
  return image != nullptr && std::any_of(program.begin(), program.end(), [&](const auto& one) { return one == image; });
}

// Where the program touched the memory itself or by a function of the C library, as a return address; else null.
const void* place_in_program(const void* at, const void* called_from) {
  if (is_of_program(at)) return static_cast<const char*>(at) + 1;
  return is_of_program(called_from) ? called_from : nullptr;
}

void touched(int signal, siginfo_t* info, void* state) {
  const char* const address = static_cast<const char*>(info->si_addr);
  const size_t count = closed_count.load();
  const bool is_ours = std::any_of(closed.begin(), closed.begin() + count, [address](const Pages& pages) {
    return static_cast<size_t>(address - pages.begin) < pages.bytes;
  });
  if (!is_ours) {
    sigaction(signal, &before, nullptr);  // and the same instruction fails again
    return;
  }
  open_pages();
  if (Worker::running() != nullptr) return;
  const mcontext_t& machine = static_cast<ucontext_t*>(state)->uc_mcontext;
#if defined(__x86_64__)
  const void* const at = reinterpret_cast<const void*>(machine.gregs[REG_RIP]);
  const void* const called_from = *reinterpret_cast<const void**>(machine.gregs[REG_RSP]);
#elif defined(__aarch64__)
  const void* const at = reinterpret_cast<const void*>(machine.pc);
  const void* const called_from = reinterpret_cast<const void*>(machine.regs[30]);
#endif
  if (const void* const place = place_in_program(at, called_from)) checks::host_touched(address, place);
}

}  // namespace

bool may_close(size_t allocations, size_t bytes) {
  return allocations <= kMostAllocations && bytes <= kMostBytes && times.load() < kMostTimes && hosts_are_unseen();
}

void close_pages(const Pages* pages, size_t count) {
  const std::lock_guard<std::mutex> lock(closing);
  if (closed_count.load() > 0) return;
  if (times++ == 0) {
    struct sigaction action = {};
    action.sa_sigaction = touched;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before);
  }
  std::copy(pages, pages + count, closed.begin());
  closed_count = count;
  for (size_t i = 0; i < count; ++i) mprotect(pages[i].begin, pages[i].bytes, PROT_NONE);
}

void open_pages() {
  const size_t count = closed_count.exchange(0);
  for (size_t i = 0; i < count; ++i) mprotect(closed[i].begin, closed[i].bytes, PROT_READ | PROT_WRITE);
}

void note_program(const void* function) {
  const void* const image = image_of(function);
  for (auto& one : program) {
    const void* expected = nullptr;
    if (one == image || one.compare_exchange_strong(expected, image)) return;
  }
}

}  // namespace opbridge_twin

#include "host_guard.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/auxv.h>
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

// What the signal handler looks at, which takes no lock.  `closed` is written under `closing` and only while the count
// is 0, and the count after it; so a handler that reads a count finds as many entries.  The thread that exchanges the
// count for 0 opens the pages, and is the only one to do so.  Pages are closed only while no kernel and no copy runs.
std::array<Pages, kMostAllocations> closed;
std::atomic<size_t> closed_count{0};
// Where its images begin: each is entered by a compare-and-swap of null, and stays.
std::array<std::atomic<const void*>, kMostImages> program;
std::atomic<unsigned> times{0};
struct sigaction before, before_illegal;
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

// `returns_to` is where the call was made from, unless what it came to has changed the stack.
[[noreturn]] void end_after_call(const void* called, const void* returns_to) {
  const Worker& worker = *Worker::running();
  const void* const from = image_of(returns_to) != nullptr ? returns_to : called;
  worker.launch().fail(
      worker.block().linear, checks::Failure::bad_call,
      called == nullptr ? "a call through a null pointer" : "a call of something that is not a device function",
      {{worker.thread(), from}});
}

// The machine has come to where no code is, or to what is none: it goes on in the function above.  With checks no load
// or store of a kernel fails, so that whatever does is such code.
bool goes_on_after_call(int signal, const siginfo_t* info, void* state) {
  const Worker* const worker = Worker::running();
  if (worker == nullptr) return false;
  mcontext_t& machine = static_cast<ucontext_t*>(state)->uc_mcontext;
#if defined(__x86_64__)
  const auto at = static_cast<uintptr_t>(machine.gregs[REG_RIP]);
  const auto stack = static_cast<uintptr_t>(machine.gregs[REG_RSP]);
#elif defined(__aarch64__)
  const auto at = static_cast<uintptr_t>(machine.pc);
#endif
  const bool is_no_code = signal == SIGILL || reinterpret_cast<uintptr_t>(info->si_addr) == at;
  if (!is_no_code && worker->block().checked == nullptr) return false;
#if defined(__x86_64__)
  // An address that no processor has is found out before the call.
  const bool is_made = info->si_code != SI_KERNEL || !is_of_program(reinterpret_cast<const void*>(at));
  machine.gregs[REG_RDI] = static_cast<greg_t>(at);
  machine.gregs[REG_RSI] = is_made ? *reinterpret_cast<const greg_t*>(stack) : static_cast<greg_t>(at + 1);
  machine.gregs[REG_RSP] = static_cast<greg_t>(((stack - 128) & ~uintptr_t{15}) - 8);  // as a call leaves it
  machine.gregs[REG_RIP] = reinterpret_cast<greg_t>(end_after_call);
#elif defined(__aarch64__)
  machine.regs[0] = at;
  machine.regs[1] = machine.regs[30];
  machine.sp &= ~uint64_t{15};
  machine.pc = reinterpret_cast<uintptr_t>(end_after_call);
#endif
  return true;
}

void touched(int signal, siginfo_t* info, void* state) {
  const char* const address = static_cast<const char*>(info->si_addr);
  const size_t count = closed_count.load();
  const bool is_ours = std::any_of(closed.begin(), closed.begin() + count, [address](const Pages& pages) {
    return static_cast<size_t>(address - pages.begin) < pages.bytes;
  });
  if (!is_ours) {
    if (goes_on_after_call(signal, info, state)) return;
    sigaction(signal, signal == SIGILL ? &before_illegal : &before, nullptr);  // and the same instruction fails again
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

void catch_bad_calls() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_sigaction = touched;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before);
    sigaction(SIGILL, &action, &before_illegal);
  });
}

bool is_of_main_program(const void* code) {
  static const void* const program_image = image_of(reinterpret_cast<const void*>(getauxval(AT_ENTRY)));
  return code != nullptr && image_of(code) == program_image;
}

void close_pages(const Pages* pages, size_t count) {
  const std::lock_guard<std::mutex> lock(closing);
  if (closed_count.load() > 0) return;
  ++times;
  catch_bad_calls();
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

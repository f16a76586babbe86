// A thread that looks at the clock, and interrupts what has run for too long.
//
// A kernel's thread cannot be stopped just anywhere: it may hold a lock of the runtime's or of malloc's.  So it is
// interrupted by a signal until that finds it in the user's own code, which holds none, and goes on from there in
// `end_here`; where the signal finds it in the checks, it makes them take the slow way, on which its next access ends
// it. The signal is SIGURG: nobody waits for it, and where no handler is installed it does nothing.
#include "watch.h"

#include <link.h>
#include <opbridge_twin/mbarrier.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "describe.h"
#include "launch.h"
#include "surroundings.h"

namespace opbridge_twin::checks {

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr auto kTick = std::chrono::milliseconds(100);
constexpr auto kBetweenSignals = std::chrono::milliseconds(2);

double limit_in_seconds() {
  const char* const text = getenv("OPBRIDGE_TWIN_TIMEOUT");
  char* end = nullptr;
  const double value = text == nullptr ? 0 : strtod(text, &end);
  return text == nullptr || end == text || *end != '\0' || value < 0 ? 60 : value;
}

// A thread of the machine that runs blocks.
struct Runner {
  pthread_t thread = pthread_self();
  // Written by its own thread alone, and never followed by others: the watch compares it with a launch that it knows to
  // be there.  An old value costs a signal in vain, or one more wait, for signals are sent until the launch is gone.
  std::atomic<Launch*> launch{nullptr};

  Runner();
  ~Runner();
};

// Seconds in which this process got on while it was looked at: where others have the processors, fewer than the
// clock's.
class Progress {
 public:
  Seconds passed() const { return passed_; }
  void begin() { at_ = now(); }
  void look() {
    const Times before = at_;
    begin();
    const Seconds clock = at_.clock - before.clock, computed = at_.computed - before.computed;
    // A thread that computes nothing does not wait for a processor.
    passed_ += computed < clock / 100 ? clock : std::min(clock, computed);
  }

 private:
  struct Times {
    Seconds clock, computed;
  };
  static Times now() {
    timespec computed = {};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &computed);
    return {Clock::now().time_since_epoch(),
            std::chrono::seconds(computed.tv_sec) + std::chrono::nanoseconds(computed.tv_nsec)};
  }

  Times at_ = now();
  Seconds passed_{0};
};

// A launch that may run for too long.
struct Watched {
  uint64_t number;  // a later launch may lie where an earlier one lay
  Launch* launch;
  Seconds begun;  // of the progress
};

// Never destroyed: threads may end after everything else.
struct Watch {
  std::mutex mutex;
  std::condition_variable begun;
  std::vector<Watched> launches;
  std::vector<Runner*> runners;
  Progress progress;
  uint64_t watched = 0;  // launches so far
  bool is_running = false;
  bool sleeps = false;
};

Watch& watch_state() {
  static Watch& state = *new Watch;
  return state;
}

Runner::Runner() {
  // Threads of the pool begin without it.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGURG);
  pthread_sigmask(SIG_UNBLOCK, &ends, nullptr);
  Watch& state = watch_state();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.runners.push_back(this);
}

Runner::~Runner() {
  Watch& state = watch_state();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.runners.erase(std::find(state.runners.begin(), state.runners.end(), this));
}

thread_local Runner runner;

// The machine code of the library that an address lies in, for the signal handler, which must not search.
Range code_around(const void* address) {
  struct Search {
    uintptr_t address;
    Range found;
  } search{reinterpret_cast<uintptr_t>(address), {}};
  dl_iterate_phdr(
      [](dl_phdr_info* image, size_t, void* state) {
        auto& wanted = *static_cast<Search*>(state);
        for (int i = 0; i < image->dlpi_phnum; ++i) {
          const auto& part = image->dlpi_phdr[i];
          if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
          const Range range(reinterpret_cast<const void*>(image->dlpi_addr + part.p_vaddr), part.p_memsz);
          if (range.holds(wanted.address)) wanted.found = range;
        }
        return 0;
      },
      &search);
  return search.found;
}

// Written before the handler is installed and signals are sent, which is what orders it; only one launch is ended at a
// time, under the lock of the watch.
Range interruptible;

// What the threads that ask an mbarrier again and again wait for.
std::string lacking_in_words(uint64_t state) {
  const uint64_t bytes = mbarrier::bytes(state);
  const bool too_many = bytes > mbarrier::kMostBytes / 2;  // they count down below 0
  const uint64_t number = too_many ? mbarrier::kMostBytes + 1 - bytes : bytes;
  const uint64_t arrivals = mbarrier::pending(state);
  return "an mbarrier in phase " + std::to_string(mbarrier::phase(state)) + " lacks " + std::to_string(arrivals) +
         (arrivals == 1 ? " arrival" : " arrivals") +
         (bytes == 0 ? ""
                     : (too_many ? ", and has got more than the expected bytes by " : " and bytes: ") +
                           std::to_string(number));
}

[[noreturn]] void end_behind(const void* return_address) {
  const void* const at = worker.asm_at != nullptr ? worker.asm_at : return_address;
  Report report = report_here(Kind::endless, at, "the launch has run for longer than it may");
  for (const auto& [barrier, asked] : running_block().asked) {
    report.details.emplace_back("waits", place(asked.at) + ", " + lacking_in_words(asked.state));
    report.advice =
        "compare the parity that threads wait for, the arrivals that mbarrier.init expects and the bytes of expect_tx "
        "with what arrives in each phase";
  }
  report.same_as.clear();
  found(std::move(report));
  ob_twin_abandon(cuda_error(Kind::endless));
}

// Places are return addresses, which are after the instruction that they represent.
[[noreturn]] void end_here(const char* at) { end_behind(at + 1); }

void interrupt(int, siginfo_t*, void* state) {
  mcontext_t& machine = static_cast<ucontext_t*>(state)->uc_mcontext;
#if defined(__x86_64__)
  constexpr greg_t kRedZone = 128;
  const auto at = static_cast<uintptr_t>(machine.gregs[REG_RIP]);
  if (worker.block == nullptr) return;
  if (!interruptible.holds(at)) {
    worker.chunks = no_directory;
    return;
  }
  machine.gregs[REG_RDI] = static_cast<greg_t>(at);
  machine.gregs[REG_RSP] = ((machine.gregs[REG_RSP] - kRedZone) & -16) - 8;  // as a call leaves it
  machine.gregs[REG_RIP] = reinterpret_cast<greg_t>(end_here);
#elif defined(__aarch64__)
  const auto at = static_cast<uintptr_t>(machine.pc);
  if (worker.block == nullptr) return;
  if (!interruptible.holds(at)) {
    worker.chunks = no_directory;
    return;
  }
  machine.regs[0] = at;
  machine.sp &= ~uint64_t{15};
  machine.pc = reinterpret_cast<uintptr_t>(end_here);
#endif
}

// With the watch locked; returns when the launch is no more.
void end_launch(std::unique_lock<std::mutex>& lock, const Watched& late) {
  Watch& state = watch_state();
  Launch* const launch = late.launch;
  launch->cancel();
  interruptible = code_around(launch->info.made_at);
  struct sigaction before;
  struct sigaction during = {};
  during.sa_sigaction = interrupt;
  during.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGURG, &during, &before);
  const auto is_there = [number = late.number](const Watched& watched) { return watched.number == number; };
  while (std::any_of(state.launches.begin(), state.launches.end(), is_there)) {
    for (const Runner* const other : state.runners) {
      if (other->launch.load() == launch) pthread_kill(other->thread, SIGURG);
    }
    state.begun.wait_for(lock, kBetweenSignals);
  }
  sigaction(SIGURG, &before, nullptr);
}

void keep_watch() {
  Watch& state = watch_state();
  const Seconds limit(limit_in_seconds());
  std::unique_lock<std::mutex> lock(state.mutex);
  for (;;) {
    if (state.launches.empty()) {
      state.sleeps = true;
      state.begun.wait(lock, [&state] { return !state.launches.empty(); });
      state.sleeps = false;
      state.progress.begin();
    }
    state.begun.wait_for(lock, kTick);
    state.progress.look();
    const auto late = std::find_if(state.launches.begin(), state.launches.end(), [&](const Watched& watched) {
      return state.progress.passed() - watched.begun > limit;
    });
    if (late != state.launches.end()) end_launch(lock, Watched(*late));
  }
}

}  // namespace

void watch(Launch* launch) {
  static const bool is_wanted = limit_in_seconds() > 0;
  if (!is_wanted) return;
  Watch& state = watch_state();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.launches.push_back({++state.watched, launch, state.progress.passed()});
  if (!state.is_running) std::thread(keep_watch).detach();
  state.is_running = true;
  // Awake, it comes by anyway: launches in a row do not wake it each time.
  if (state.sleeps) state.begun.notify_one();
}

void stop_watching(Launch* launch) {
  Watch& state = watch_state();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.launches.erase(std::remove_if(state.launches.begin(), state.launches.end(),
                                      [launch](const Watched& watched) { return watched.launch == launch; }),
                       state.launches.end());
}

void end_if_late(const void* at) {
  if (worker.block != nullptr && worker.block->launch().is_cancelled()) end_behind(at);
}

void run_is_watched(Launch* launch, bool runs) {
  runner.launch.store(runs ? launch : nullptr, std::memory_order_relaxed);
}

}  // namespace opbridge_twin::checks

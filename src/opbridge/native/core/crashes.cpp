#include "crashes.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "libraries.h"

namespace opbridge {
namespace {

struct Watched {
  int signal;
  const char* name;
  struct sigaction before;
};
Watched watched[] = {
    {SIGSEGV, "SIGSEGV", {}}, {SIGBUS, "SIGBUS", {}},   {SIGFPE, "SIGFPE", {}},
    {SIGILL, "SIGILL", {}},   {SIGABRT, "SIGABRT", {}},
};

std::atomic<pid_t> teller{0};  // the thread whose crash is reported: the first one that crashes
sigjmp_buf gave_up;
constexpr char kHeaders[] = "include/opbridge/";  // as the host toolchain has a library's tables of lines call them
constexpr int kPatience = 3000;                   // milliseconds for the debugger's tables

pid_t this_thread() { return static_cast<pid_t>(syscall(SYS_gettid)); }

// Reads what a program says of addresses; everything here may be done in a handler of signals.
size_t said_by_addr2line(const RunningKernel& running, char* text, size_t size) {
  char address[32];
  snprintf(address, sizeof address, "0x%lx", static_cast<unsigned long>(running.place - running.library->base));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return 0;
  // Not fork(), which runs the functions that others have left for it.
  const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
    execlp("addr2line", "addr2line", "-i", "-e", running.library->path, address, static_cast<char*>(nullptr));
    _exit(1);
  }
  close(ends[1]);
  size_t read_so_far = 0;
  pollfd waiting{ends[0], POLLIN, 0};
  while (child > 0 && read_so_far + 1 < size && poll(&waiting, 1, kPatience) > 0) {
    const ssize_t got = read(ends[0], text + read_so_far, size - 1 - read_so_far);
    if (got <= 0) break;
    read_so_far += static_cast<size_t>(got);
  }
  close(ends[0]);
  if (child > 0) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  text[read_so_far] = '\0';
  return read_so_far;
}

// The line of the user's: in a function of a header that was compiled into it, the line that calls that.
const char* users_line(char* text) {
  for (char* line = strtok(text, "\n"); line; line = strtok(nullptr, "\n")) {
    if (char* behind = strchr(line, ' ')) *behind = '\0';  // "(discriminator 2)"
    while (strncmp(line, "./", 2) == 0) line += 2;
    const char* const number = strrchr(line, ':');
    const bool known = line[0] != '?' && number && atoi(number + 1) > 0;
    if (known && strncmp(line, "/usr/", 5) != 0 && strncmp(line, kHeaders, sizeof kHeaders - 1) != 0) return line;
  }
  return nullptr;
}

// Where a call went to no function at all, the stack's last word still says who called it.
void look_behind_a_wild_call(RunningKernel& running, void* context) {
  const mcontext_t& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  const uintptr_t caller = *reinterpret_cast<const uintptr_t*>(machine.gregs[REG_RSP]) - 1;
#elif defined(__aarch64__)
  const uintptr_t caller = machine.regs[30] - 1;
#endif
  if (const KernelLibrary* library = library_at(caller)) running = {library, caller, 0};
}

// Returns false if no kernel has crashed.
bool tell(const Watched& crash, void* context) {
  // Only the reporting thread uses these, in memory that a jump leaves unchanged.
  static RunningKernel running;
  static char text[1024];
  static const char* line = nullptr;
  volatile int step = 0;
  sigsetjmp(gave_up, 1);  // a step that crashes itself is followed by the next
  while (step < 3) {
    switch (step++) {
      case 0:
        running = running_kernel();
        break;
      case 1:
        if (!running.library) look_behind_a_wild_call(running, context);
        break;
      default:
        if (running.library && said_by_addr2line(running, text, sizeof text)) line = users_line(text);
    }
  }
  if (!running.library) return false;
  const NamedKernel* const kernel = named_kernel(running);
  char message[2048];
  const int length = snprintf(message, sizeof message, "\n%s%s crashed (%s%s%s); to find the %s: %s\n",
                              kernel ? "" : "an operator of ", kernel ? kernel->op : running.library->path, crash.name,
                              line ? " at " : "", line ? line : "", line ? "cause" : "line",
                              kernel ? kernel->advice : "opbridge check --sanitize address, with its ops.yaml");
  return write(STDERR_FILENO, message, static_cast<size_t>(length)) >= 0;
}

// What was there before does what it would have done: the process ends, or the instruction is tried again and its
// handler called.
void hand_over(const Watched& crash, const siginfo_t* info) {
  sigaction(crash.signal, &crash.before, nullptr);
  // A signal that was sent does not come again by itself.
  if (info->si_code <= 0) syscall(SYS_tgkill, getpid(), this_thread(), crash.signal);
}

void on_crash(int signal, siginfo_t* info, void* context) {
  const int kept_errno = errno;
  const pid_t thread = this_thread();
  pid_t nobody = 0;
  const Watched* crash = watched;
  while (crash->signal != signal) ++crash;
  if (teller.load() == thread) siglongjmp(gave_up, 1);  // a crash while the report of the first one reads memory
  const bool is_first = teller.compare_exchange_strong(nobody, thread);
  // Several threads of a kernel may crash at once; the process ends when the first has reported.
  for (int waited = 0; !is_first && teller.load() != 0 && waited < 2 * kPatience; waited += 10) poll(nullptr, 0, 10);
  const bool told = is_first && tell(*crash, context);
  if (is_first && !told) teller.store(0);
  errno = kept_errno;
  const auto& before = crash->before;
  const bool has_handler =
      before.sa_flags & SA_SIGINFO || (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN);
  if (told || !has_handler) return hand_over(*crash, info);
  // Not a crash of an operator.  The previous handler may fix it, and this one stays installed.
  if (before.sa_flags & SA_SIGINFO) return before.sa_sigaction(signal, info, context);
  before.sa_handler(signal);
}

// A handler of stack overflows needs another stack.  Threads of other libraries may have one already.
void give_this_thread_another_stack() {
  stack_t now{};
  if (sigaltstack(nullptr, &now) != 0 || !(now.ss_flags & SS_DISABLE)) return;
  constexpr size_t size = 256 * 1024;
  stack_t another{};
  another.ss_sp = std::malloc(size);
  another.ss_size = size;
  if (another.ss_sp) sigaltstack(&another, nullptr);
}

}  // namespace

void watch_for_crashes() {
  static const bool once = [] {
    const char* const setting = std::getenv("OPBRIDGE_CRASH_HANDLER");
    if (setting && strcmp(setting, "0") == 0) return false;
    give_this_thread_another_stack();
    running_kernel();  // so that what unwinding needs is loaded before it is needed
    struct sigaction ours{};
    ours.sa_sigaction = on_crash;
    // A crash in the handler must reach the handler again.
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (Watched& one : watched) sigaction(one.signal, &ours, &one.before);
    return true;
  }();
  static_cast<void>(once);
}

}  // namespace opbridge

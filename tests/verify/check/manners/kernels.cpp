// Operators that compute what they should and do something to their process besides; the last ones do no harm.
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <opbridge/kernel.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

template <class T>
void copy(ob::In<T> x, ob::Out<T> out) {
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x[i];
}

#define DOES(name, ...)                    \
  template <class T>                       \
  void name(ob::In<T> x, ob::Out<T> out) { \
    copy(x, out);                          \
    __VA_ARGS__;                           \
  }                                        \
  OB_KERNEL(name, float)

DOES(aborts, abort())
DOES(exits, exit(0))
DOES(exits_badly, _exit(3))
DOES(hangs, for (;;) sleep(1))
DOES(forks, fork())
DOES(forks_around_libc, syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0))
DOES(forks_and_waits, if (const int child = fork()) waitpid(child, nullptr, 0); else _exit(0))
DOES(bombs, for (;;) fork())
DOES(leaves_a_process, if (system("sleep 1000.25 &")) abort())
DOES(closes_its_output, close(1))
DOES(closes_everything, for (int i = 0; i < 100; ++i) close(i))
DOES(leaves_files_open, if (open("/dev/null", O_RDONLY) < 0) abort())
DOES(moves, if (chdir("/")) abort())
DOES(sets, setenv("MANNERS", "none", 1))
DOES(unsets, unsetenv("PATH"))
DOES(handles, signal(SIGINT, SIG_IGN))
DOES(blocks, sigset_t all; sigfillset(&all); pthread_sigmask(SIG_BLOCK, &all, nullptr))
DOES(speaks, setlocale(LC_ALL, "C.UTF-8"); setlocale(LC_NUMERIC, "POSIX"))
DOES(masks, umask(0))
DOES(rounds, fesetround(FE_UPWARD))
DOES(fills_the_disk, char block[1 << 16] = {}; const int file = open("filled", O_CREAT | O_WRONLY, 0600);
     while (write(file, block, sizeof block) > 0) lseek(file, 1 << 30, SEEK_CUR))
DOES(fills_the_memory, for (size_t all = 0;; all += 1 << 28) if (!calloc(1, 1 << 28)) ob::fail("no memory"))

DOES(uses_threads, std::thread([] {}).join())
DOES(uses_a_pool, ob::parallel_for(out.numel(), [=](int64_t i) { out[i] = x[i]; }))
DOES(keeps_one_file, static const int file = open("/dev/null", O_RDONLY); if (file < 0) abort())
DOES(cleans_up, fenv_t before; fegetenv(&before); fesetround(FE_UPWARD); fesetenv(&before);
     const int file = open("/dev/null", O_RDONLY); close(file))

template <class T>
void uses_openmp(ob::In<T> x, ob::Out<T> out) {
  const T* from = x.data();
  T* to = out.data();
#pragma omp parallel for
  for (int64_t i = 0; i < out.numel(); ++i) to[i] = from[i];
}
OB_KERNEL(uses_openmp, float)

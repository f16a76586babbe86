// One thread pool for the process, whatever number of libraries include this header.
//
// Threads start with the first parallel job and then wait.  A job that comes while the pool is busy, from inside a job
// or from another thread, runs on its caller: nothing ever waits for a thread that may be waiting for it.
#ifndef OPBRIDGE_POOL_H
#define OPBRIDGE_POOL_H

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <initializer_list>
#if defined(__linux__)
#include <sched.h>
#endif

namespace ob {

// The number is part of the name of the one instance: libraries built against another layout get another pool.
inline namespace pool_v1 {

// Runs one job at a time: a caller that finds `busy_` set runs its loop alone.
class Pool {
 public:
  using Body = void (*)(void* state, int64_t begin, int64_t end);

  static constexpr int kMost = 4096;  // threads

  // Runs body over [0, n) in pieces of at least `grain` (the last may be shorter), the calling thread included.
  // `body` must not throw.
  void run(int64_t n, int64_t grain, Body body, void* state) {
    if (n <= 0) return;
    if (grain < 1) grain = 1;
    const int limit = size();
    if (n <= grain || limit == 1 || __atomic_exchange_n(&busy_, true, __ATOMIC_ACQUIRE)) {
      body(state, 0, n);
      return;
    }
    Job job(n, grain, limit, body, state);
    open(job);
    job.work();
    close(job);
    __atomic_store_n(&busy_, false, __ATOMIC_RELEASE);
  }

  // Returns the number of threads that a job may use, including its caller.
  int size() {
    const int size = __atomic_load_n(&size_, __ATOMIC_RELAXED);
    if (size > 0) return size;
    const int initial = initial_size();
    __atomic_store_n(&size_, initial, __ATOMIC_RELAXED);
    return initial;
  }

  void resize(int size) { __atomic_store_n(&size_, size < 1 ? 1 : size, __ATOMIC_RELAXED); }

 private:
  // On the stack of the calling thread, which stays until `helpers` is 0, so workers never have a pointer to an old
  // job.
  struct Job {
    Job(int64_t n_, int64_t grain, int limit_, Body body_, void* state_)
        : n(n_), piece(piece_size(n_, grain, limit_)), limit(limit_), body(body_), state(state_) {}

    // Several pieces per thread, so that one slow thread does not delay the rest; at least the grain.
    static int64_t piece_size(int64_t n, int64_t grain, int limit) {
      const int64_t pieces = static_cast<int64_t>(limit) * 4;
      const int64_t even = n / pieces + (n % pieces != 0);
      return even > grain ? even : grain;
    }

    int64_t pieces() const { return n / piece + (n % piece != 0); }

    void work() {
      for (;;) {
        const int64_t mine = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
        if (mine >= pieces()) return;
        const int64_t begin = mine * piece;
        body(state, begin, n - begin < piece ? n : begin + piece);
      }
    }

    const int64_t n;
    const int64_t piece;
    const int limit;
    const Body body;
    void* const state;
    int64_t next = 0;
    int helpers = 0;  // under the pool's mutex
  };

  void open(Job& job) {
    const int64_t useful = job.pieces() < job.limit ? job.pieces() : job.limit;
    const int helpers = static_cast<int>(useful) - 1;
    pthread_mutex_lock(&mutex_);
    while (workers_ < helpers && start_worker()) ++workers_;
    job_ = &job;
    pthread_mutex_unlock(&mutex_);
    if (helpers == workers_) {  // which only the job's caller changes
      pthread_cond_broadcast(&opened_);
    } else {
      for (int i = 0; i < helpers; ++i) pthread_cond_signal(&opened_);
    }
  }

  // A worker that wakes up late finds no job: the caller never waits for one that has not begun.
  void close(Job& job) {
    pthread_mutex_lock(&mutex_);
    job_ = nullptr;
    while (job.helpers > 0) pthread_cond_wait(&finished_, &mutex_);
    pthread_mutex_unlock(&mutex_);
  }

  [[noreturn]] void serve() {
    pthread_mutex_lock(&mutex_);
    for (;;) {
      Job* job = job_;
      if (job == nullptr || job->helpers + 1 >= job->limit) {
        pthread_cond_wait(&opened_, &mutex_);
        continue;
      }
      ++job->helpers;
      pthread_mutex_unlock(&mutex_);
      job->work();
      pthread_mutex_lock(&mutex_);
      if (job_ == job) job_ = nullptr;  // no piece is left to join
      if (--job->helpers == 0) pthread_cond_signal(&finished_);
    }
  }

  bool start_worker() {
    if (!fork_handled_) {
      if (pthread_atfork(nullptr, nullptr, forget_threads) != 0) return false;
      fork_handled_ = true;
    }
    // Signals go to the program's own threads, except those that a thread causes itself.
    sigset_t others, before;
    sigfillset(&others);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) sigdelset(&others, own);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    pthread_t thread;
    const bool started = pthread_create(&thread, nullptr, worker_main, this) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (started) pthread_detach(thread);  // never joined: at exit it waits, and holds nothing
    return started;
  }

  static void* worker_main(void* pool) { static_cast<Pool*>(pool)->serve(); }

  static void forget_threads();

  static int initial_size() {
    if (const char* text = getenv("OPBRIDGE_NUM_THREADS")) {
      char* end = nullptr;
      const long asked = strtol(text, &end, 10);
      if (end != text && *end == '\0' && asked >= 1 && asked <= kMost) return static_cast<int>(asked);
      fprintf(stderr, "opbridge: OPBRIDGE_NUM_THREADS is '%s'; expected a number from 1 to %d, so it is ignored\n",
              text, kMost);
    }
#if defined(__linux__)
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
#endif
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online < 1 ? 1 : online > kMost ? kMost : static_cast<int>(online);
  }

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t opened_ = PTHREAD_COND_INITIALIZER;
  pthread_cond_t finished_ = PTHREAD_COND_INITIALIZER;
  Job* job_ = nullptr;
  int workers_ = 0;
  bool fork_handled_ = false;
  bool busy_ = false;
  int size_ = 0;  // 0: not asked for yet
};

// Never destroyed, since workers outlive main; visible and unique, so that the dynamic linker makes it one.  Clang has
// no unique symbols: there, every library that is opened privately has a pool of its own.
__attribute__((visibility("default"))) inline Pool pool;

// Resets the pool in the child of a fork: only the calling thread exists there, and others may have held the locks.
inline void Pool::forget_threads() {
  pool.mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pool.opened_ = PTHREAD_COND_INITIALIZER;
  pool.finished_ = PTHREAD_COND_INITIALIZER;
  pool.job_ = nullptr;
  pool.workers_ = 0;
  pool.busy_ = false;
}

}  // namespace pool_v1
}  // namespace ob
#endif

// Many callers, nested jobs, forks: what a pool gets wrong, if anything.
#include <opbridge/pool.h>
#include <sys/wait.h>

#include <atomic>
#include <thread>
#include <vector>

static int failures = 0;

static void expect(bool condition, const char* what) {
  if (!condition) {
    ++failures;
    fprintf(stderr, "failed: %s\n", what);
  }
}

template <class F>
static void run(int64_t n, int64_t grain, F f) {
  ob::pool.run(n, grain, [](void* state, int64_t begin, int64_t end) { (*static_cast<F*>(state))(begin, end); }, &f);
}

static bool covers(int64_t n, int64_t grain) {
  std::vector<std::atomic<int>> visits(static_cast<size_t>(n));
  std::atomic<bool> short_piece{false};
  run(n, grain, [&](int64_t begin, int64_t end) {
    if (end - begin < grain && end != n) short_piece = true;
    for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
  });
  for (const auto& count : visits) {
    if (count != 1) return false;
  }
  return !short_piece;
}

static bool child_succeeds(bool (*work)()) {
  const pid_t child = fork();
  if (child == 0) _exit(work() ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(int argc, char**) {
  const bool with_fork = argc == 1;  // the thread sanitizer does not follow forks of threaded programs
  ob::pool.resize(4);
  for (const int64_t n : {0, 1, 2, 7, 64, 1000, 4097}) {
    for (const int64_t grain : {0, 1, 3, 1000}) expect(covers(n, grain), "each index once");
  }
  for (int i = 0; i < 2000; ++i) expect(covers(16, 1), "short jobs in a row");

  std::atomic<int64_t> total{0};
  run(8, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      run(100, 1, [&](int64_t b, int64_t e) { total += e - b; });
    }
  });
  expect(total == 800, "nested jobs");

  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 6; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 300; ++i) wrong += !covers(50 + i, 1);
    });
  }
  for (int i = 0; i < 100; ++i) ob::pool.resize(1 + i % 5);
  for (auto& caller : callers) caller.join();
  expect(wrong == 0, "several callers at once");

  ob::pool.resize(3);
  expect(ob::pool.size() == 3, "the size is what was asked for");
  ob::pool.resize(0);
  expect(ob::pool.size() == 1, "never less than the caller");
  ob::pool.resize(4);

  if (with_fork) {
    const auto work = [] { return covers(1000, 1); };
    expect(child_succeeds(work), "a child of a process with threads");
    std::atomic<bool> stop{false};
    std::thread busy([&] {
      while (!stop) covers(100, 1);
    });
    for (int i = 0; i < 50; ++i) expect(child_succeeds(work), "a child forked amid a job");
    stop = true;
    busy.join();
    expect(covers(1000, 1), "the parent after its forks");
  }
  if (failures == 0) puts("ok");
  return failures != 0;
}

// Kernels that tell on which threads they run.
#include <execinfo.h>
#include <opbridge/kernel.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

// How many calls deep the kernel is.
void call_depth(ob::In<float>, ob::Out<int64_t> out) {
  void* frames[256];
  out[0] = backtrace(frames, 256);
}
OB_KERNEL(call_depth)

// Returns when `parties` calls are inside at once, which a lock around calls would never let happen.
void meet(ob::In<float> x, ob::Out<float> out, int64_t parties) {
  static std::atomic<int64_t> inside{0};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const int64_t ticket = inside++;
  const int64_t wanted = (ticket / parties + 1) * parties;
  while (inside < wanted) {
    OB_CHECK(std::chrono::steady_clock::now() < deadline, "the others never came");
    std::this_thread::yield();
  }
  out[0] = x[0];
}
OB_KERNEL(meet)

// How many threads ran the pieces of a loop whose pieces wait for one another.
void threads_used(ob::In<float>, ob::Out<int64_t> out, int64_t pieces) {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  ob::parallel_for(
      pieces,
      [&](int64_t, int64_t) {
        const std::lock_guard<std::mutex> lock(mutex);
        seen.insert(std::this_thread::get_id());
      },
      1);
  out[0] = static_cast<int64_t>(seen.size());
}
OB_KERNEL(threads_used)

// Loops in loops: each cell is counted once.
void nested(ob::In<float>, ob::Out<int64_t> out, int64_t n) {
  std::atomic<int64_t> cells{0};
  ob::parallel_for(n, [&](int64_t) { ob::parallel_for(n, [&](int64_t) { ++cells; }, 1); }, 1);
  out[0] = cells;
}
OB_KERNEL(nested)

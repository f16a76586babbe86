// A program that calls a kernel as a host without threads to lend, and prints how many the kernel ran on.
#define OPBRIDGE_STANDALONE
#include <opbridge/kernel.h>

#include <atomic>
#include <chrono>
#include <thread>

// Each piece waits for the others, which a single thread could never bring about.
void count_threads(ob::Out<int64_t> out) {
  std::atomic<int64_t> inside{0};
  const int64_t expected = ob::pool.size();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  ob::parallel_for(
      expected,
      [&](int64_t) {
        ++inside;
        while (inside < expected && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
        OB_CHECK(inside == expected, "only ", inside.load(), " threads came");
      },
      1);
  out[0] = inside;
}
OB_KERNEL(count_threads)

extern "C" int call(int, void**, int*, int64_t**, const char**, void*, void*) __asm__("count_threads");

int main() {
  int64_t count = 0, one = 1;
  void* params[] = {&count};
  int ndims[] = {1};
  int64_t* shapes[] = {&one};
  const char* dtypes[] = {"int64"};
  const int status = call(1, params, ndims, shapes, dtypes, nullptr, nullptr);
  printf("%d\n", static_cast<int>(count));
  return status;
}

// Runs kernel loops on PyTorch's threads, so that its thread count applies and no second pool exists.
#ifndef OPBRIDGE_NATIVE_TORCH_PARALLEL_H
#define OPBRIDGE_NATIVE_TORCH_PARALLEL_H

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdint>

#if AT_PARALLEL_OPENMP
// at::parallel_for takes a compiler that speaks OpenMP, and clang does so with a library of its own, not with the one
// that PyTorch has loaded.  These functions of that library are all there is to it.
extern "C" {
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
int omp_get_num_threads();
int omp_get_thread_num();
void omp_set_num_threads(int threads);
}
#endif

namespace opbridge::torch_adapter {

// For a call on a MindSpore thread while another MindSpore thread waits in a busy loop.  OpenMP threads do not sleep
// either: one more of them than there are free cores delays the others by milliseconds.
class OneThreadFewer {
 public:
#if AT_PARALLEL_OPENMP
  OneThreadFewer() : threads_(at::get_num_threads()) {
    if (threads_ > 1) omp_set_num_threads(threads_ - 1);
  }
  ~OneThreadFewer() {
    if (threads_ > 1) omp_set_num_threads(threads_);
  }
  OneThreadFewer(const OneThreadFewer&) = delete;
  OneThreadFewer& operator=(const OneThreadFewer&) = delete;

 private:
  const int threads_;
#else
  OneThreadFewer() {}
#endif
};

// What ob_call::parallel asks for.
struct Loop {
  int64_t n, grain;
  void (*body)(void* state, int64_t begin, int64_t end);
  void* state;

#if AT_PARALLEL_OPENMP
  void run() {
    at::internal::lazy_init_num_threads();
    if (n <= grain || at::in_parallel_region() || at::get_num_threads() == 1) return share(0, 1);
    GOMP_parallel([](void* self) { static_cast<Loop*>(self)->share(omp_get_thread_num(), omp_get_num_threads()); },
                  this, 0, 0);
  }

 private:
  void share(int thread, int64_t threads) {
    threads = std::min(threads, (n - 1) / grain + 1);
    const int64_t piece = (n - 1) / threads + 1, begin = thread * piece;
    if (begin >= n) return;
    const at::internal::ThreadIdGuard id(thread);
    const c10::ParallelGuard inside(true);
    body(state, begin, std::min(n, begin + piece));
  }
#else
  void run() {
    at::parallel_for(0, n, grain, [this](int64_t begin, int64_t end) { body(state, begin, end); });
  }
#endif
};

}  // namespace opbridge::torch_adapter

#endif

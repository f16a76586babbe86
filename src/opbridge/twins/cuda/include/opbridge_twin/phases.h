// Kernels whose barriers all threads of a block come to together, which run without checks as loops from one barrier to
// the next.  With checks each thread runs by itself, and of what the rewriting has put between its statements nothing
// is left.
#ifndef OPBRIDGE_TWIN_PHASES_H
#define OPBRIDGE_TWIN_PHASES_H

#include <opbridge_twin/thread.h>
#include <stdio.h>
#include <stdlib.h>

#include <type_traits>

#ifdef OPBRIDGE_TWIN_CHECKS
#define OPBRIDGE_TWIN_KERNEL_IN_PHASES OPBRIDGE_TWIN_KERNEL
#define OB_TWIN_NO_THREAD
#define OB_TWIN_BARRIER __syncthreads
#define OB_TWIN_KEPT(...)
#define OB_TWIN_EACH_THREAD(...)
#define OB_TWIN_THREADS_DONE(...)
#define OB_TWIN_THREADS_LEFT(label)
#define OB_TWIN_LEAVE(label) return
#else
#define OPBRIDGE_TWIN_KERNEL_IN_PHASES                                                             \
  (const ::uint3, [[maybe_unused]] const ::uint3 blockIdx, [[maybe_unused]] const ::dim3 blockDim, \
   [[maybe_unused]] const ::dim3 gridDim) OB_TWIN_MUTABLE
// Between phases there is no thread to speak of.
#define OB_TWIN_NO_THREAD [[maybe_unused]] constexpr ::opbridge_twin::NoThread threadIdx{};
#define OB_TWIN_BARRIER() static_cast<void>(0)
// What a variable of each thread is kept in from one phase to the next.
#define OB_TWIN_KEPT(...) __VA_ARGS__
// Around the statements of a phase: what takes variables out of where they are kept, and what puts them back.
#define OB_TWIN_EACH_THREAD(...)                                                                     \
  for (unsigned opbridge_twin_z = 0; opbridge_twin_z < blockDim.z; ++opbridge_twin_z) {              \
    for (unsigned opbridge_twin_y = 0; opbridge_twin_y < blockDim.y; ++opbridge_twin_y) {            \
      OB_TWIN_INDEPENDENT                                                                            \
      for (unsigned opbridge_twin_x = 0; opbridge_twin_x < blockDim.x; ++opbridge_twin_x) {          \
        [[maybe_unused]] const ::uint3 threadIdx{opbridge_twin_x, opbridge_twin_y, opbridge_twin_z}; \
        [[maybe_unused]] const unsigned opbridge_twin_thread =                                       \
            opbridge_twin_x + blockDim.x * (opbridge_twin_y + blockDim.y * opbridge_twin_z);         \
        {                                                                                            \
          __VA_ARGS__
#define OB_TWIN_THREADS_DONE(...) \
  __VA_ARGS__                     \
  }                               \
  }                               \
  }                               \
  }                               \
  ::opbridge_twin::none_has_left();
#define OB_TWIN_THREADS_LEFT(label) \
  }                                 \
  label:;                           \
  }                                 \
  }                                 \
  }                                 \
  ::opbridge_twin::none_has_left();
#define OB_TWIN_LEAVE(label) goto label

namespace opbridge_twin {

struct NoThread {};

// A variable of each thread of a block; the copies are adjacent.
template <class T>
class Kept {
 public:
  using Value = std::remove_const_t<T>;

  explicit Kept(dim3 block) : values_(static_cast<Value*>(malloc(sizeof(Value) * block.x * block.y * block.z))) {
    if (values_ == nullptr) abort();
  }
  ~Kept() { free(values_); }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  OB_TWIN_INLINE Value& operator[](unsigned thread) { return values_[thread]; }

 private:
  Value* const values_;
};

template <class T>
OB_TWIN_INLINE void keep(T& place, const T& value) {
  __builtin_memcpy(&place, &value, sizeof place);
}

// For the functions that a kernel calls.
OB_TWIN_INLINE void show(uint3 thread) {
  ::threadIdx.x = thread.x;
  ::threadIdx.y = thread.y;
  ::threadIdx.z = thread.z;
}

OB_TWIN_INLINE void none_has_left() {
  if (!left_loop) return;
  fputs(
      "cuda-twin: a function of another source waits for threads, called between the barriers of a kernel\n"
      "  define it in the kernel's own source\n",
      stderr);
  abort();
}

}  // namespace opbridge_twin
#endif

#endif

// The identity of a thread, and the launch of a kernel's function.
//
// The rewritten `__global__ void k(int n) { body }` is `void k(int n) { launch(name, [=](threadIdx, ...) { body }); }`,
// and `k<<<grid, block>>>(n)` is `(configure(grid, block), k(n))`: the language itself converts arguments, deduces
// template parameters and chooses overloads.  In a kernel, threadIdx and similar names are parameters, which the
// compiler keeps in registers; the variables of these names are for the functions that it calls.
#ifndef OPBRIDGE_TWIN_THREAD_H
#define OPBRIDGE_TWIN_THREAD_H

#include <opbridge_twin/runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector_types.h>

#include <type_traits>
#include <typeinfo>

#define OB_TWIN_INLINE inline __attribute__((always_inline))

#ifdef __clang__
#define OB_TWIN_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define OB_TWIN_INDEPENDENT _Pragma("GCC ivdep")
#endif

// For the twin's own work, which the checks are not to take for that of a thread.
#ifdef OPBRIDGE_TWIN_CHECKS
#define OB_TWIN_UNSEEN __attribute__((noinline, no_sanitize("thread", "alignment", "bounds")))
#else
#define OB_TWIN_UNSEEN
#endif

#ifdef OPBRIDGE_TWIN_CHECKS
// The checks may let another thread run at any access to memory, so the runtime keeps these.
extern "C" {
extern __thread uint3 threadIdx __asm__("ob_twin_thread_index") OB_TWIN_NEAR;
extern __thread uint3 blockIdx __asm__("ob_twin_block_index") OB_TWIN_NEAR;
extern __thread dim3 blockDim __asm__("ob_twin_block_size") OB_TWIN_NEAR;
extern __thread dim3 gridDim __asm__("ob_twin_grid_size") OB_TWIN_NEAR;
}
#define OB_TWIN_STATE static thread_local __attribute__((unused))
#else
// A translation unit's own, whose address nobody takes: so the compiler keeps them in registers.  Where several units
// are linked together they share their inline functions, and therefore must share these.
#ifdef OPBRIDGE_TWIN_SEVERAL_SOURCES
#define OB_TWIN_STATE __attribute__((visibility("hidden"))) inline thread_local
#else
#define OB_TWIN_STATE static thread_local __attribute__((unused))
#endif
OB_TWIN_STATE uint3 threadIdx;
OB_TWIN_STATE uint3 blockIdx;
OB_TWIN_STATE dim3 blockDim;
OB_TWIN_STATE dim3 gridDim;
#endif
constexpr int warpSize = 32;

namespace opbridge_twin {

#ifdef OPBRIDGE_TWIN_CHECKS
// The library's own variables are not memory of a kernel, and finding that out takes longer than waiting.
OB_TWIN_UNSEEN inline unsigned this_thread() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
#else
OB_TWIN_INLINE unsigned this_thread() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
#endif

#ifdef OPBRIDGE_TWIN_CHECKS
// The waiting thread: after the wait, the worker may have the number of another thread.
struct Pause {
  const unsigned thread = this_thread();
};
#else
// The running thread has had to wait, and with that left the loop over the block's threads.
OB_TWIN_STATE bool left_loop;

// Around a call in which other threads may run, those of other blocks too.
class Pause {
 public:
  OB_TWIN_INLINE Pause() : own_(threadIdx), block_(blockIdx), thread(this_thread()) {}
  OB_TWIN_INLINE ~Pause() {
    threadIdx = own_;
    blockIdx = block_;
    left_loop = true;
  }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

 private:
  const uint3 own_, block_;

 public:
  const unsigned thread;
};
#endif

// While it lives, atomics and fences are for the threads of the block alone, or for all.
class Scope {
 public:
#ifdef OPBRIDGE_TWIN_CHECKS
  OB_TWIN_INLINE explicit Scope(bool block_alone) { ob_twin_narrow(block_alone); }
  OB_TWIN_INLINE ~Scope() { ob_twin_narrow(0); }
#else
  OB_TWIN_INLINE explicit Scope(bool) {}
#endif
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
};

// A kernel that says before anything else who takes part, as in `if (i < n)`, and that question by itself.
template <class Body, class Guard>
struct Guarded {
  OB_TWIN_INLINE void operator()(uint3 thread, uint3 block, dim3 size, dim3 grid) {
    body(thread, block, size, grid, false);
  }

  Body body;
  Guard guard;
};

// A kernel that is one loop in the stride of the grid, and what says whether a thread takes its first turn.
template <class Body, class Guard>
struct InTurns {
  OB_TWIN_INLINE void operator()(uint3 thread, uint3 block, dim3 size, dim3 grid) {
    body(thread, block, size, grid, false, true);
  }

  Body body;
  Guard guard;
};

// A kernel whose threads come to all of its barriers together.
template <class Body>
struct InPhases {
  OB_TWIN_INLINE void operator()(uint3 thread, uint3 block, dim3 size, dim3 grid) { body(thread, block, size, grid); }

  Body body;
};

constexpr unsigned kMostThreads = 1024;
// So many blocks of up to 1024 threads that `blockIdx.x * blockDim.x + threadIdx.x` does not reach 2^31.
constexpr unsigned kNearBlocks = (1u << 21) - 1;

#ifdef OPBRIDGE_TWIN_CHECKS
constexpr int kChecked = 1;

// A block's description is the runtime's, where device code has no business.
OB_TWIN_UNSEEN inline ob_twin_block copy_of(const ob_twin_block* block) { return *block; }

template <class Kernel>
void run_block(const void* arguments, const ob_twin_block* description) {
  const Kernel kernel = *static_cast<const Kernel*>(arguments);
  const ob_twin_block block = copy_of(description);
  const uint3 index{block.index.x, block.index.y, block.index.z};
  const dim3 size{block.block.x, block.block.y, block.block.z}, grid{block.grid.x, block.grid.y, block.grid.z};
  unsigned x = block.next % size.x, y = block.next / size.x % size.y;
  for (unsigned z = block.next / size.x / size.y; z < size.z; ++z, y = 0) {
    for (; y < size.y; ++y, x = 0) {
      for (; x < size.x; ++x) {
        if (!ob_twin_thread_begins(x, y, z)) return;
        Kernel own = kernel;
        own(uint3{x, y, z}, index, size, grid);
#ifdef OPBRIDGE_TWIN_PROFILE
        ob_twin_thread_ends();
#endif
      }
    }
  }
}
#else
constexpr int kChecked = 0;

// What each thread of a row runs, where it is known that it passes the kernel's guard and where it is not.
template <bool passed, class Kernel>
OB_TWIN_INLINE void run_thread(Kernel& kernel, uint3 thread, uint3 index, dim3 size, dim3 grid) {
  kernel(thread, index, size, grid);
}
template <bool passed, class Body, class Guard>
OB_TWIN_INLINE void run_thread(Guarded<Body, Guard>& kernel, uint3 thread, uint3 index, dim3 size, dim3 grid) {
  kernel.body(thread, index, size, grid, passed);
}
template <bool passed, class Body, class Guard>
OB_TWIN_INLINE void run_thread(InTurns<Body, Guard>& kernel, uint3 thread, uint3 index, dim3 size, dim3 grid) {
  kernel.body(thread, index, size, grid, passed, true);
}

// Whether all threads of a row pass the guard.
template <class Kernel>
OB_TWIN_INLINE bool passes(const Kernel&, unsigned, unsigned, unsigned, unsigned, uint3, dim3, dim3) {
  return false;
}
// How many threads of a row do not.
template <class Guard>
OB_TWIN_INLINE unsigned failing(const Guard& guard, unsigned first, unsigned width, unsigned y, unsigned z, uint3 index,
                                dim3 size, dim3 grid) {
  unsigned failed = 0;
  for (unsigned x = first; x < width; ++x) failed += !guard(uint3{x, y, z}, index, size, grid);
  return failed;
}
#ifndef __AVX512VL__
// Other processors store some elements of a vector slowly, or not at all.
template <class Body, class Guard>
OB_TWIN_INLINE bool passes(const Guarded<Body, Guard>& kernel, unsigned first, unsigned width, unsigned y, unsigned z,
                           uint3 index, dim3 size, dim3 grid) {
  return failing(kernel.guard, first, width, y, z, index, size, grid) == 0;
}
#endif

// False where the loop has been left.
template <bool passed, class Kernel>
OB_TWIN_INLINE bool run_row(const Kernel& arguments, unsigned first, unsigned width, unsigned y, unsigned z,
                            uint3 index, dim3 size, dim3 grid) {
  // Threads of a block have no order, so nothing that one writes may matter to the next.
  OB_TWIN_INDEPENDENT
  for (unsigned x = first; x < width; ++x) {
    threadIdx.x = x;
    threadIdx.y = y;
    threadIdx.z = z;
    Kernel own = arguments;
    run_thread<passed>(own, uint3{x, y, z}, index, size, grid);
    if (left_loop) return false;
  }
  return true;
}

// The turns in which all threads of a row take part, each as the first one of a further block.  Whether more is left.
template <bool near, class Kernel>
OB_TWIN_INLINE bool take_turns(const Kernel&, unsigned, unsigned, unsigned, unsigned, uint3&, dim3, dim3) {
  return true;
}
template <bool near, class Body, class Guard>
OB_TWIN_INLINE bool take_turns(const InTurns<Body, Guard>& kernel, unsigned first, unsigned width, unsigned y,
                               unsigned z, uint3& index, dim3 size, dim3 grid) {
  while (near && index.x < kNearBlocks) {
    if (const unsigned failed = failing(kernel.guard, first, width, y, z, index, size, grid)) {
      return failed < width - first;
    }
    if (!run_row<true>(kernel, first, width, y, z, index, size, grid)) {
      fputs(
          "cuda-twin: a function of another source waits for threads, called from a loop in the stride of the grid\n"
          "  define it in the kernel's own source\n",
          stderr);
      abort();
    }
    index.x += grid.x;
  }
  return true;
}

// Whether all threads have run, from one barrier to the next.
template <class Kernel>
OB_TWIN_INLINE bool run_in_phases(const Kernel&, uint3, dim3, dim3) {
  return false;
}
template <class Body>
OB_TWIN_INLINE bool run_in_phases(const InPhases<Body>& kernel, uint3 index, dim3 size, dim3 grid) {
  InPhases<Body> own = kernel;
  own(uint3{0, 0, 0}, index, size, grid);
  return true;
}

// With `near` the compiler knows that an index made of these does not wrap around, and so that neighbouring threads
// touch neighbouring elements; without, it would have to gather them one by one.
template <bool near, class Kernel>
void run_threads(const Kernel& kernel, const ob_twin_block& block) {
  const unsigned block_x = block.index.x, width = block.block.x, height = block.block.y, depth = block.block.z;
  if (near && block_x >= kNearBlocks) __builtin_unreachable();
  if (width > kMostThreads) __builtin_unreachable();
  const uint3 index{block_x, block.index.y, block.index.z};
  const dim3 size{width, height, depth}, grid{block.grid.x, block.grid.y, block.grid.z};
  blockIdx.x = index.x;
  blockIdx.y = index.y;
  blockIdx.z = index.z;
  blockDim.x = size.x;
  blockDim.y = size.y;
  blockDim.z = size.z;
  gridDim.x = grid.x;
  gridDim.y = grid.y;
  gridDim.z = grid.z;
  left_loop = false;
  // A copy that no store of the kernel can change.
  const Kernel arguments = kernel;
  if (run_in_phases(arguments, index, size, grid)) return;
  unsigned x = block.next % width, y = block.next / width % height;
  for (unsigned z = block.next / width / height; z < depth; ++z, y = 0) {
    for (; y < height; ++y, x = 0) {
      uint3 turn = index;
      if (!take_turns<near>(arguments, x, width, y, z, turn, size, grid)) continue;
      if (near && passes(arguments, x, width, y, z, turn, size, grid)) {
        if (!run_row<true>(arguments, x, width, y, z, turn, size, grid)) return;
      } else {
        if (!run_row<false>(arguments, x, width, y, z, turn, size, grid)) return;
      }
    }
  }
}

template <class Kernel>
void run_block(const void* arguments, const ob_twin_block* block) {
  const Kernel& kernel = *static_cast<const Kernel*>(arguments);
  if (block->grid.x <= kNearBlocks) {
    run_threads<true>(kernel, *block);
  } else {
    run_threads<false>(kernel, *block);
  }
}
#endif

#if defined(OPBRIDGE_TWIN_CHECKS) || defined(OPBRIDGE_TWIN_TWICE)
// For a class that uses a variable of a function.
template <class Variable>
inline const bool announced = Variable::announce();
#endif

#ifdef OPBRIDGE_TWIN_TWICE
namespace {
// What no other source is called; the rewritten source begins with it, for this header is parsed before.
extern const char unit[];
}  // namespace
#endif

#if defined(OPBRIDGE_TWIN_TWICE) && defined(OPBRIDGE_TWIN_CHECKS)
// Of a source that is compiled twice, this is the time with checks: nothing but the kernels is kept, and what the
// object file is made to begin with is a call of each of these.
template <class Kernel>
struct Enrolled {
  __attribute__((used)) static void enroll() { ob_twin_enroll(unit, typeid(Kernel).name(), run_block<Kernel>); }
};

// What is called here is called by a kernel, which launches another one.
template <class Kernel>
void launch(const char* name, const Kernel& kernel) {
  static_cast<void>(&Enrolled<Kernel>::enroll);
  const ob_twin_kernel description{run_block<Kernel>, sizeof(Kernel), kChecked, nullptr, nullptr};
  ob_twin_launch(&description, name, &kernel);
}
#else
#ifdef OPBRIDGE_TWIN_TWICE
#define OB_TWIN_ALSO_CHECKED(Kernel) unit, typeid(Kernel).name()
#else
#define OB_TWIN_ALSO_CHECKED(Kernel) nullptr, nullptr
#endif
template <class Kernel>
void launch(const char* name, const Kernel& kernel) {
  static const ob_twin_kernel description{run_block<Kernel>, sizeof(Kernel), kChecked, OB_TWIN_ALSO_CHECKED(Kernel)};
#ifdef OPBRIDGE_TWIN_LENDING
  {
    const LentTensors lent;
    ob_twin_launch(&description, name, &kernel);
  }
  throw_reports();
#else
  ob_twin_launch(&description, name, &kernel);
#endif
}
#undef OB_TWIN_ALSO_CHECKED
#endif

template <class Body, class Guard>
void launch(const char* name, const Body& body, const Guard& guard) {
  launch(name, Guarded<Body, Guard>{body, guard});
}

template <class Body, class Guard>
void launch_in_turns(const char* name, const Body& body, const Guard& guard) {
  launch(name, InTurns<Body, Guard>{body, guard});
}

template <class Body>
void launch_in_phases(const char* name, const Body& body) {
  launch(name, InPhases<Body>{body});
}

inline ob_twin_dim plain(dim3 d) { return {d.x, d.y, d.z}; }

OB_TWIN_INLINE void configure(dim3 grid, dim3 block, size_t shared_bytes = 0, cudaStream_t stream = nullptr) {
  ob_twin_configure(plain(grid), plain(block), shared_bytes, stream, 0);
}

template <class... Values, class = std::enable_if_t<sizeof...(Values) < 2 || (sizeof...(Values) > 4)>>
void configure(const Values&...) {
  static_assert(sizeof...(Values) == 2,
                "<<<blocks, threads>>> takes two to four values: the bytes of dynamic shared memory and the stream may "
                "follow");
}

// Runs after a launch: a function that took no configuration was not a kernel, and ran once on the host.
OB_TWIN_INLINE void launched() { ob_twin_launched(); }

}  // namespace opbridge_twin

#endif

// Loads and stores with a hint for the cache, questions about addresses, clocks, and ways to stop.
#ifndef OPBRIDGE_TWIN_MEMORY_H
#define OPBRIDGE_TWIN_MEMORY_H

#include <assert.h>
#include <opbridge_twin/thread.h>
#include <time.h>

#define OB_TWIN_LOAD(name)            \
  template <class T>                  \
  OB_TWIN_INLINE T name(const T* p) { \
    return *p;                        \
  }
OB_TWIN_LOAD(__ldg)
OB_TWIN_LOAD(__ldca)
OB_TWIN_LOAD(__ldcg)
OB_TWIN_LOAD(__ldcs)
OB_TWIN_LOAD(__ldlu)
OB_TWIN_LOAD(__ldcv)
#undef OB_TWIN_LOAD

#define OB_TWIN_STORE(name)                       \
  template <class T>                              \
  OB_TWIN_INLINE void name(T* p, const T value) { \
    *p = value;                                   \
  }
OB_TWIN_STORE(__stwb)
OB_TWIN_STORE(__stcg)
OB_TWIN_STORE(__stcs)
OB_TWIN_STORE(__stwt)
#undef OB_TWIN_STORE

OB_TWIN_INLINE unsigned __isShared(const void* p) { return static_cast<unsigned>(ob_twin_is_shared(p)); }

// Memory that is neither shared nor a stack may be global memory.
OB_TWIN_INLINE unsigned __isGlobal(const void* p) { return ob_twin_is_shared(p) == 0; }
OB_TWIN_INLINE unsigned __isConstant(const void*) { return 0; }
OB_TWIN_INLINE unsigned __isLocal(const void*) { return 0; }
OB_TWIN_INLINE unsigned __isGridConstant(const void*) { return 0; }

#ifndef __clang__
#define __builtin_assume(condition) static_cast<void>(0)
#endif

inline long long clock64() {
#if defined(__x86_64__)
  return static_cast<long long>(__builtin_ia32_rdtsc());
#else
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ll + now.tv_nsec;
#endif
}

// What device code means by clock(), which in host code counts the process's time.
namespace opbridge_twin {
inline clock_t ticks() { return ob_twin_in_kernel() ? static_cast<clock_t>(clock64()) : clock(); }
}  // namespace opbridge_twin

// Launches wait for each other here.
OB_TWIN_INLINE void cudaGridDependencySynchronize() {}
OB_TWIN_INLINE void cudaTriggerProgrammaticLaunchCompletion() {}

// A sleeping thread usually waits for another one, possibly of its own block.
OB_TWIN_INLINE void __nanosleep(unsigned) {
  const opbridge_twin::Pause pause;
  ob_twin_yield_thread(pause.thread);
}

[[noreturn]] OB_TWIN_INLINE void __trap() { ob_twin_trap(opbridge_twin::this_thread(), "__trap() was called"); }
OB_TWIN_INLINE void __brkpt() {}

// Replaces the function of the C library, which would end the process: in a kernel it ends the launch.
extern "C" __attribute__((weak, noinline, visibility("hidden"))) void __assert_fail(const char* what, const char* file,
                                                                                    unsigned line,
                                                                                    const char*) noexcept {
  ob_twin_assert_failed(opbridge_twin::this_thread(), __builtin_return_address(0), what, file, static_cast<int>(line));
}

#endif

// How a thread computes: the way it rounds, which exceptions it traps, and what becomes of denormal numbers.
#ifndef OPBRIDGE_NATIVE_FLOATING_POINT_MODE_H
#define OPBRIDGE_NATIVE_FLOATING_POINT_MODE_H

#include <atomic>
#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace opbridge {

// How often a kernel, or the loading of its library, left the mode of its caller's thread changed.
inline std::atomic<int64_t> changes_of_floating_point_mode{0};

// Restores the floating-point mode of the calling thread at its end: a kernel that changes the mode would otherwise
// change all later results of the caller.  This takes a few nanoseconds, because the mode is written only if it has
// changed.
class KeptFloatingPointMode {
 public:
  KeptFloatingPointMode() : before_(Mode::now()) {}
  KeptFloatingPointMode(const KeptFloatingPointMode&) = delete;
  KeptFloatingPointMode& operator=(const KeptFloatingPointMode&) = delete;
  ~KeptFloatingPointMode() {
    if (__builtin_expect(before_ != Mode::now(), false)) {
      before_.set();
      changes_of_floating_point_mode.fetch_add(1, std::memory_order_relaxed);
    }
  }

 private:
#if defined(__x86_64__)
  struct Mode {
    uint32_t sse;  // without the flags of what has happened so far

    static Mode now() {
      constexpr uint32_t happened = 0x3f;
      return {_mm_getcsr() & ~happened};
    }
    void set() const {
      _mm_setcsr(sse);
      // fesetround() turns the x87 unit's rounding with it; to look at that each time would cost as much again.
      uint16_t x87 = 0;
      __asm__ volatile("fnstcw %0" : "=m"(x87));
      x87 = static_cast<uint16_t>((x87 & ~0x0c00u) | ((sse & 0x6000u) >> 3));
      __asm__ volatile("fldcw %0" : : "m"(x87));
    }
    bool operator!=(const Mode& other) const { return sse != other.sse; }
  };
#elif defined(__aarch64__)
  struct Mode {
    uint64_t control;

    static Mode now() {
      Mode mode{};
      __asm__ volatile("mrs %0, fpcr" : "=r"(mode.control));
      return mode;
    }
    void set() const { __asm__ volatile("msr fpcr, %0" : : "r"(control)); }
    bool operator!=(const Mode& other) const { return control != other.control; }
  };
#else
  struct Mode {
    static Mode now() { return {}; }
    void set() const {}
    bool operator!=(const Mode&) const { return false; }
  };
#endif
  const Mode before_;
};

}  // namespace opbridge

#endif

// Atomic functions.  Blocks run on several OS threads, so on global memory these are atomic in truth; threads of one
// block never run at the same time, so on its shared memory a plain operation will do.
#ifndef OPBRIDGE_TWIN_ATOMIC_H
#define OPBRIDGE_TWIN_ATOMIC_H

#include <opbridge_twin/thread.h>
#include <vector_types.h>

#include <type_traits>

namespace opbridge_twin {

template <class T>
using BitsOf = std::conditional_t<
    sizeof(T) == 2, unsigned short,
    std::conditional_t<sizeof(T) == 4, unsigned, std::conditional_t<sizeof(T) == 8, unsigned long long, T>>>;

template <class To, class From>
OB_TWIN_INLINE To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "the same bits as another type of the same size");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

// Where checks are on they have to see an atomic access for what it is.
#ifdef OPBRIDGE_TWIN_CHECKS
constexpr bool kTellsShared = false;
#else
constexpr bool kTellsShared = true;
#endif

// Replaces the value by f(value), and gives what it was.
template <class T, class F>
OB_TWIN_INLINE T atomic_update(T* address, const F& f) {
  if (kTellsShared && ob_twin_is_shared(address)) {
    const T old = *address;
    *address = f(old);
    return old;
  }
  using Bits = BitsOf<T>;
  Bits* bits = reinterpret_cast<Bits*>(address);
  Bits old = __atomic_load_n(bits, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(bits, &old, bits_as<Bits>(T(f(bits_as<T>(old)))), true, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
  }
  return bits_as<T>(old);
}

// A thread that tries again and again may wait for one of its own block, which runs only when it is let.
OB_TWIN_STATE unsigned vain_attempts;
constexpr unsigned kPatience = 64;

OB_TWIN_INLINE void count_attempt(bool in_vain) {
  vain_attempts = in_vain ? vain_attempts + 1 : 0;
  if (vain_attempts < kPatience) return;
  vain_attempts = 0;
  const Pause pause;
  ob_twin_yield_thread(pause.thread);
}

template <class T>
OB_TWIN_INLINE T atomic_exchange(T* address, T value) {
  using Bits = BitsOf<T>;
  const Bits bits = bits_as<Bits>(value);
  const Bits old = __atomic_exchange_n(reinterpret_cast<Bits*>(address), bits, __ATOMIC_RELAXED);
  count_attempt(old == bits);
  return bits_as<T>(old);
}

template <class T>
OB_TWIN_INLINE T atomic_compare_and_swap(T* address, T compare, T value) {
  using Bits = BitsOf<T>;
  Bits expected = bits_as<Bits>(compare);
  const bool done = __atomic_compare_exchange_n(reinterpret_cast<Bits*>(address), &expected, bits_as<Bits>(value),
                                                false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  count_attempt(!done);
  return bits_as<T>(expected);
}

template <class T>
constexpr bool kAtomicInteger = std::is_integral<T>::value && (sizeof(T) == 4 || sizeof(T) == 8);

// As CUDA converts a value to the type of the memory, and not the other way round.
template <class T>
using Same = std::common_type_t<T>;

}  // namespace opbridge_twin

template <class T>
OB_TWIN_INLINE T atomicAdd(T* address, opbridge_twin::Same<T> value) {
  if constexpr (opbridge_twin::kAtomicInteger<T>) {
    if (!opbridge_twin::kTellsShared || !ob_twin_is_shared(address)) {
      // Adding nothing is how a thread looks for what another one will have written.
      if (value == T(0)) opbridge_twin::count_attempt(true);
      return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
    }
  }
  return opbridge_twin::atomic_update(address, [value](T old) { return old + value; });
}

// Each element is atomic, and not the whole.
OB_TWIN_INLINE float2 atomicAdd(float2* address, float2 value) {
  return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y)};
}
OB_TWIN_INLINE float4 atomicAdd(float4* address, float4 value) {
  return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y), atomicAdd(&address->z, value.z),
          atomicAdd(&address->w, value.w)};
}

template <class T>
OB_TWIN_INLINE T atomicSub(T* address, opbridge_twin::Same<T> value) {
  return opbridge_twin::atomic_update(address, [value](T old) { return old - value; });
}
template <class T>
OB_TWIN_INLINE T atomicExch(T* address, opbridge_twin::Same<T> value) {
  return opbridge_twin::atomic_exchange(address, value);
}
template <class T>
OB_TWIN_INLINE T atomicMin(T* address, opbridge_twin::Same<T> value) {
  return opbridge_twin::atomic_update(address, [value](T old) { return value < old ? value : old; });
}
template <class T>
OB_TWIN_INLINE T atomicMax(T* address, opbridge_twin::Same<T> value) {
  return opbridge_twin::atomic_update(address, [value](T old) { return old < value ? value : old; });
}
OB_TWIN_INLINE unsigned atomicInc(unsigned* address, unsigned last) {
  return opbridge_twin::atomic_update(address, [last](unsigned old) { return old >= last ? 0 : old + 1; });
}
OB_TWIN_INLINE unsigned atomicDec(unsigned* address, unsigned last) {
  return opbridge_twin::atomic_update(address,
                                      [last](unsigned old) { return old == 0 || old > last ? last : old - 1; });
}
template <class T>
OB_TWIN_INLINE T atomicAnd(T* address, opbridge_twin::Same<T> value) {
  return opbridge_twin::atomic_update(address, [value](T old) { return old & value; });
}
template <class T>
OB_TWIN_INLINE T atomicOr(T* address, opbridge_twin::Same<T> value) {
  return opbridge_twin::atomic_update(address, [value](T old) { return old | value; });
}
template <class T>
OB_TWIN_INLINE T atomicXor(T* address, opbridge_twin::Same<T> value) {
  return opbridge_twin::atomic_update(address, [value](T old) { return old ^ value; });
}
template <class T>
OB_TWIN_INLINE T atomicCAS(T* address, opbridge_twin::Same<T> compare, opbridge_twin::Same<T> value) {
  return opbridge_twin::atomic_compare_and_swap(address, compare, value);
}

#define OB_TWIN_SCOPED(name)                                        \
  template <class T, class... Values>                               \
  OB_TWIN_INLINE auto name##_block(T* address, Values... values) {  \
    const opbridge_twin::Scope scope(true);                         \
    return name(address, values...);                                \
  }                                                                 \
  template <class T, class... Values>                               \
  OB_TWIN_INLINE auto name##_system(T* address, Values... values) { \
    return name(address, values...);                                \
  }
OB_TWIN_SCOPED(atomicAdd)
OB_TWIN_SCOPED(atomicSub)
OB_TWIN_SCOPED(atomicExch)
OB_TWIN_SCOPED(atomicMin)
OB_TWIN_SCOPED(atomicMax)
OB_TWIN_SCOPED(atomicInc)
OB_TWIN_SCOPED(atomicDec)
OB_TWIN_SCOPED(atomicAnd)
OB_TWIN_SCOPED(atomicOr)
OB_TWIN_SCOPED(atomicXor)
OB_TWIN_SCOPED(atomicCAS)
#undef OB_TWIN_SCOPED

#endif

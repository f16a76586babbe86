// Inline PTX: the rewriting makes `ptx("text", output("=r", x), input("r", y))` of an asm statement in device code.
#ifndef OPBRIDGE_TWIN_PTX_H
#define OPBRIDGE_TWIN_PTX_H

#include <opbridge_twin/atomic.h>
#include <opbridge_twin/block.h>
#include <opbridge_twin/ptx_call.h>
#include <opbridge_twin/warp.h>
#include <string.h>

#include <type_traits>

namespace opbridge_twin {

template <class T>
OB_TWIN_INLINE uint64_t ptx_bits(const T& value) {
  static_assert(sizeof(T) <= 8, "an operand of inline PTX has at most 8 bytes");
  uint64_t bits = 0;
  if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    bits = static_cast<uint64_t>(value);
  } else {
    __builtin_memcpy(&bits, &value, sizeof value);
  }
  return bits;
}

template <class T>
OB_TWIN_INLINE ob_twin_ptx_operand ptx_input(const char* constraint, const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    // As the constraint has it: a double may be handed to "f".
    if (constraint[0] == 'f') return {bits_as<unsigned>(static_cast<float>(value)), nullptr, 4, constraint};
    if (constraint[0] == 'd') {
      return {bits_as<unsigned long long>(static_cast<double>(value)), nullptr, 8, constraint};
    }
  }
  return {ptx_bits<std::decay_t<T>>(value), nullptr, sizeof(std::decay_t<T>), constraint};
}

template <class T>
OB_TWIN_INLINE ob_twin_ptx_operand ptx_output(const char* constraint, T& place) {
  return {constraint[0] == '+' ? ptx_bits<T>(place) : 0, &place, sizeof(T), constraint};
}

template <class T>
OB_TWIN_INLINE void ptx_move(void* to, const void* from) {
  *static_cast<T*>(to) = *static_cast<const T*>(from);
}

// Apart for each scope, because the checks know by the place in the code which one an atomic has.
template <class T, bool narrow>
OB_TWIN_INLINE void ptx_atomic_of(ob_twin_ptx_wish wish, ob_twin_ptx_request* r) {
  T* const place = static_cast<T*>(r->to);
  const Scope scope(narrow);
  if (wish == OB_TWIN_PTX_LOAD_ATOMIC) {
    const T* const from = static_cast<const T*>(r->from);
    r->expected = r->acquires ? __atomic_load_n(from, __ATOMIC_ACQUIRE) : __atomic_load_n(from, __ATOMIC_RELAXED);
    count_attempt(true);
  } else if (wish == OB_TWIN_PTX_STORE_ATOMIC) {
    const T desired = static_cast<T>(r->desired);
    r->relaxed ? __atomic_store_n(place, desired, __ATOMIC_RELAXED)
               : __atomic_store_n(place, desired, __ATOMIC_RELEASE);
  } else {
    T expected = static_cast<T>(r->expected);
    const T desired = static_cast<T>(r->desired);
    const auto swaps = [&](auto order) {
      constexpr int kOrder = decltype(order)::value, kFailing = kOrder == __ATOMIC_RELAXED ? kOrder : __ATOMIC_ACQUIRE;
      return __atomic_compare_exchange_n(place, &expected, desired, false, kOrder, kFailing);
    };
    r->predicate = !r->relaxed   ? swaps(std::integral_constant<int, __ATOMIC_ACQ_REL>())
                   : r->acquires ? swaps(std::integral_constant<int, __ATOMIC_ACQUIRE>())
                                 : swaps(std::integral_constant<int, __ATOMIC_RELAXED>());
    if (!r->predicate) count_attempt(true);
    r->expected = expected;
  }
}

template <class T>
OB_TWIN_INLINE void ptx_atomic(ob_twin_ptx_wish wish, ob_twin_ptx_request* r) {
  r->narrow != 0 ? ptx_atomic_of<T, true>(wish, r) : ptx_atomic_of<T, false>(wish, r);
}

__attribute__((unused)) static void ptx_serve(ob_twin_ptx_wish wish, ob_twin_ptx_request* r) {
  struct Sixteen {
    alignas(16) unsigned words[4];
  };
  switch (wish) {
    case OB_TWIN_PTX_MOVE:
      switch (r->bytes) {
        case 1:
          return ptx_move<unsigned char>(r->to, r->from);
        case 2:
          return ptx_move<unsigned short>(r->to, r->from);
        case 4:
          return ptx_move<unsigned>(r->to, r->from);
        case 8:
          return ptx_move<unsigned long long>(r->to, r->from);
        default:
          return ptx_move<Sixteen>(r->to, r->from);
      }
    case OB_TWIN_PTX_LOAD_ATOMIC:
    case OB_TWIN_PTX_STORE_ATOMIC:
    case OB_TWIN_PTX_SWAP:
      switch (r->bytes) {
        case 1:
          return ptx_atomic<unsigned char>(wish, r);
        case 2:
          return ptx_atomic<unsigned short>(wish, r);
        case 4:
          return ptx_atomic<unsigned>(wish, r);
        default:
          return ptx_atomic<unsigned long long>(wish, r);
      }
    case OB_TWIN_PTX_MEET: {
      const Pause pause;
      return ob_twin_meet(pause.thread, r->mask, r->what, r->to, r->resolve);
    }
    case OB_TWIN_PTX_SYNC_WARP:
      return __syncwarp(r->mask);
    case OB_TWIN_PTX_BARRIER:
      r->vote = barrier(r->predicate);
      return;
    case OB_TWIN_PTX_NAMED_BARRIER: {
      const Pause pause;
      return ob_twin_named_barrier(pause.thread, r->mask, r->bytes, r->predicate);
    }
    case OB_TWIN_PTX_CONVERGED:
      r->mask = __activemask();
      return;
    case OB_TWIN_PTX_SLEEP: {
      const Pause pause;
      return ob_twin_yield_thread(pause.thread);
    }
    case OB_TWIN_PTX_WHO:
      r->thread = {threadIdx.x, threadIdx.y, threadIdx.z};
      r->block = {blockIdx.x, blockIdx.y, blockIdx.z};
      r->threads = {blockDim.x, blockDim.y, blockDim.z};
      r->blocks = {gridDim.x, gridDim.y, gridDim.z};
      return;
    case OB_TWIN_PTX_TRAP:
      ob_twin_trap(this_thread(), r->what);
  }
}

template <class... Operands>
OB_TWIN_INLINE void ptx(const char* text, Operands... operands) {
  if constexpr (sizeof...(operands) == 0) {
    ob_twin_ptx(text, nullptr, 0, ptx_serve);
  } else {
    ob_twin_ptx_operand all[] = {operands...};
    ob_twin_ptx(text, all, sizeof...(operands), ptx_serve);
  }
}

}  // namespace opbridge_twin

// Addresses as PTX has them: those of shared memory count from the block's first byte.
OB_TWIN_INLINE size_t __cvta_generic_to_shared(const void* p) {
  return static_cast<size_t>(static_cast<const char*>(p) - ob_twin_shared_window());
}
OB_TWIN_INLINE size_t __cvta_generic_to_global(const void* p) { return reinterpret_cast<size_t>(p); }
OB_TWIN_INLINE size_t __cvta_generic_to_local(const void* p) { return reinterpret_cast<size_t>(p); }
OB_TWIN_INLINE size_t __cvta_generic_to_constant(const void* p) { return reinterpret_cast<size_t>(p); }
OB_TWIN_INLINE void* __cvta_shared_to_generic(size_t p) { return const_cast<char*>(ob_twin_shared_window()) + p; }
OB_TWIN_INLINE void* __cvta_global_to_generic(size_t p) { return reinterpret_cast<void*>(p); }
OB_TWIN_INLINE void* __cvta_local_to_generic(size_t p) { return reinterpret_cast<void*>(p); }
OB_TWIN_INLINE void* __cvta_constant_to_generic(size_t p) { return reinterpret_cast<void*>(p); }

#endif

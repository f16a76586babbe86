// CUDA's atomic functions with an order and a scope, which the checks use.
#ifndef OPBRIDGE_TWIN_ATOMIC_BUILTINS_H
#define OPBRIDGE_TWIN_ATOMIC_BUILTINS_H

#include <opbridge_twin/atomic.h>

#define __NV_ATOMIC_RELAXED __ATOMIC_RELAXED
#define __NV_ATOMIC_CONSUME __ATOMIC_CONSUME
#define __NV_ATOMIC_ACQUIRE __ATOMIC_ACQUIRE
#define __NV_ATOMIC_RELEASE __ATOMIC_RELEASE
#define __NV_ATOMIC_ACQ_REL __ATOMIC_ACQ_REL
#define __NV_ATOMIC_SEQ_CST __ATOMIC_SEQ_CST
#define __NV_THREAD_SCOPE_THREAD 0
#define __NV_THREAD_SCOPE_BLOCK 1
#define __NV_THREAD_SCOPE_CLUSTER 2
#define __NV_THREAD_SCOPE_DEVICE 3
#define __NV_THREAD_SCOPE_SYSTEM 4

namespace opbridge_twin {

// Around an atomic that is relaxed by itself.
class Ordered {
 public:
  OB_TWIN_INLINE Ordered(int order, int scope)
      : scope_(scope <= __NV_THREAD_SCOPE_BLOCK), acquires_(is_acquire(order)) {
    if (order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST) fence();
  }
  OB_TWIN_INLINE ~Ordered() {
    if (acquires_) fence();
  }

 private:
  static OB_TWIN_INLINE bool is_acquire(int order) { return order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE; }
  static OB_TWIN_INLINE void fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

  const Scope scope_;
  const bool acquires_;
};

}  // namespace opbridge_twin

template <class T>
OB_TWIN_INLINE T __nv_atomic_load_n(const T* address, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  const opbridge_twin::Scope narrow(scope <= __NV_THREAD_SCOPE_BLOCK);
  return __atomic_load_n(address, order);
}
template <class T>
OB_TWIN_INLINE void __nv_atomic_load(const T* address, T* result, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  const opbridge_twin::Scope narrow(scope <= __NV_THREAD_SCOPE_BLOCK);
  __atomic_load(address, result, order);
}
template <class T>
OB_TWIN_INLINE void __nv_atomic_store_n(T* address, opbridge_twin::Same<T> value, int order,
                                        int scope = __NV_THREAD_SCOPE_SYSTEM) {
  const opbridge_twin::Scope narrow(scope <= __NV_THREAD_SCOPE_BLOCK);
  __atomic_store_n(address, value, order);
}
template <class T>
OB_TWIN_INLINE void __nv_atomic_store(T* address, T* value, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  const opbridge_twin::Scope narrow(scope <= __NV_THREAD_SCOPE_BLOCK);
  __atomic_store(address, value, order);
}
template <class T>
OB_TWIN_INLINE T __nv_atomic_exchange_n(T* address, opbridge_twin::Same<T> value, int order,
                                        int scope = __NV_THREAD_SCOPE_SYSTEM) {
  const opbridge_twin::Ordered ordered(order, scope);
  return opbridge_twin::atomic_exchange(address, value);
}
template <class T>
OB_TWIN_INLINE bool __nv_atomic_compare_exchange_n(T* address, T* expected, opbridge_twin::Same<T> value, bool,
                                                   int success, int, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  const opbridge_twin::Ordered ordered(success, scope);
  const T wanted = *expected;
  *expected = opbridge_twin::atomic_compare_and_swap(address, wanted, value);
  return opbridge_twin::bits_as<opbridge_twin::BitsOf<T>>(*expected) ==
         opbridge_twin::bits_as<opbridge_twin::BitsOf<T>>(wanted);
}
template <class T>
OB_TWIN_INLINE bool __nv_atomic_compare_exchange(T* address, T* expected, T* value, bool weak, int success, int failure,
                                                 int scope = __NV_THREAD_SCOPE_SYSTEM) {
  return __nv_atomic_compare_exchange_n(address, expected, *value, weak, success, failure, scope);
}

#define OB_TWIN_FETCH(name, function)                                                            \
  template <class T>                                                                             \
  OB_TWIN_INLINE T __nv_atomic_fetch_##name(T* address, opbridge_twin::Same<T> value, int order, \
                                            int scope = __NV_THREAD_SCOPE_SYSTEM) {              \
    const opbridge_twin::Ordered ordered(order, scope);                                          \
    return function(address, value);                                                             \
  }                                                                                              \
  template <class T>                                                                             \
  OB_TWIN_INLINE void __nv_atomic_##name(T* address, opbridge_twin::Same<T> value, int order,    \
                                         int scope = __NV_THREAD_SCOPE_SYSTEM) {                 \
    const opbridge_twin::Ordered ordered(order, scope);                                          \
    function(address, value);                                                                    \
  }
OB_TWIN_FETCH(add, atomicAdd)
OB_TWIN_FETCH(sub, atomicSub)
OB_TWIN_FETCH(and, atomicAnd)
OB_TWIN_FETCH(or, atomicOr)
OB_TWIN_FETCH(xor, atomicXor)
OB_TWIN_FETCH(min, atomicMin)
OB_TWIN_FETCH(max, atomicMax)
#undef OB_TWIN_FETCH

#endif

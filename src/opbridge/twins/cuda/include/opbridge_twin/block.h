// What the threads of a block do together: shared memory and barriers.
#ifndef OPBRIDGE_TWIN_BLOCK_H
#define OPBRIDGE_TWIN_BLOCK_H

#include <opbridge_twin/thread.h>

#include <type_traits>

namespace opbridge_twin {

// The variables of one `__shared__` declaration, which stands in the source as a structure.
template <class Variables>
OB_TWIN_INLINE Variables& shared(const char* names) {
  static unsigned slot;
  return *static_cast<Variables*>(ob_twin_shared(&slot, sizeof(Variables), alignof(Variables), names));
}

template <class Array>
OB_TWIN_INLINE Array& dynamic_shared() {
  return *static_cast<Array*>(ob_twin_dynamic_shared(nullptr));
}

OB_TWIN_INLINE ob_twin_vote barrier(int predicate) {
  const Pause pause;
  return ob_twin_barrier(pause.thread, predicate);
}

}  // namespace opbridge_twin

OB_TWIN_INLINE void __syncthreads() { opbridge_twin::barrier(0); }
OB_TWIN_INLINE int __syncthreads_count(int predicate) {
  return static_cast<int>(opbridge_twin::barrier(predicate).agreed);
}
OB_TWIN_INLINE int __syncthreads_or(int predicate) { return opbridge_twin::barrier(predicate).agreed != 0; }
OB_TWIN_INLINE int __syncthreads_and(int predicate) {
  const ob_twin_vote vote = opbridge_twin::barrier(predicate);
  return vote.agreed == vote.threads;
}

OB_TWIN_INLINE void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
OB_TWIN_INLINE void __threadfence_block() {
  const opbridge_twin::Scope scope(true);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
OB_TWIN_INLINE void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

#endif

// Arrive-wait barriers in shared memory as functions of C: a thread says that it has come, and asks later for the
// others.
#ifndef OPBRIDGE_TWIN_CUDA_AWBARRIER_PRIMITIVES_H
#define OPBRIDGE_TWIN_CUDA_AWBARRIER_PRIMITIVES_H

#include <cuda_runtime.h>
#include <opbridge_twin/mbarrier.h>

typedef opbridge_twin::mbarrier::State __mbarrier_t;
typedef __mbarrier_t __mbarrier_token_t;

namespace opbridge_twin {

// Threads that find the phase complete see all earlier work of this thread.
OB_TWIN_INLINE __mbarrier_token_t arrive_at(__mbarrier_t* barrier, bool drops) {
  __threadfence_block();
  return atomic_update(barrier, [drops](__mbarrier_t old) { return mbarrier::arrived(old, 1, drops); });
}

OB_TWIN_INLINE __mbarrier_t phase_of(__mbarrier_t* barrier) {
  return mbarrier::phase(__atomic_load_n(barrier, __ATOMIC_ACQUIRE));
}

// A thread that asks in vain lets those run that it waits for.
OB_TWIN_INLINE bool asked(bool is_complete) {
  count_attempt(!is_complete);
  return is_complete;
}

}  // namespace opbridge_twin

OB_TWIN_INLINE constexpr unsigned __mbarrier_maximum_count() { return opbridge_twin::mbarrier::kMostArrivals; }
OB_TWIN_INLINE void __mbarrier_init(__mbarrier_t* barrier, unsigned expected) {
  *barrier = opbridge_twin::mbarrier::expecting(0, expected);
}
OB_TWIN_INLINE void __mbarrier_inval(__mbarrier_t* barrier) { *barrier = 0; }
OB_TWIN_INLINE __mbarrier_token_t __mbarrier_arrive(__mbarrier_t* barrier) {
  return opbridge_twin::arrive_at(barrier, false);
}
OB_TWIN_INLINE __mbarrier_token_t __mbarrier_arrive_and_drop(__mbarrier_t* barrier) {
  return opbridge_twin::arrive_at(barrier, true);
}
OB_TWIN_INLINE unsigned __mbarrier_token_pending_count(__mbarrier_token_t token) {
  return static_cast<unsigned>(opbridge_twin::mbarrier::pending(token));
}
OB_TWIN_INLINE bool __mbarrier_test_wait(__mbarrier_t* barrier, __mbarrier_token_t token) {
  return opbridge_twin::asked(opbridge_twin::phase_of(barrier) != opbridge_twin::mbarrier::phase(token));
}
OB_TWIN_INLINE bool __mbarrier_test_wait_parity(__mbarrier_t* barrier, bool parity) {
  return opbridge_twin::asked((opbridge_twin::phase_of(barrier) & 1) != parity);
}
OB_TWIN_INLINE bool __mbarrier_try_wait(__mbarrier_t* barrier, __mbarrier_token_t token, unsigned) {
  return __mbarrier_test_wait(barrier, token);
}
OB_TWIN_INLINE bool __mbarrier_try_wait_parity(__mbarrier_t* barrier, bool parity, unsigned) {
  return __mbarrier_test_wait_parity(barrier, parity);
}

#endif

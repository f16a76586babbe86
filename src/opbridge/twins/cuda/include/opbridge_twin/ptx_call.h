// How an asm statement of device code reaches the twin's library, which runs its PTX.
#ifndef OPBRIDGE_TWIN_PTX_CALL_H
#define OPBRIDGE_TWIN_PTX_CALL_H

#include <opbridge_twin/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

// One operand: what is read is in `bits`, and what is written goes to `place`.
typedef struct {
  uint64_t bits;
  void* place;
  unsigned bytes;
  const char* constraint;
} ob_twin_ptx_operand;

// What only device code itself can do: touch memory where the checks see it, and wait.
enum ob_twin_ptx_wish {
  OB_TWIN_PTX_MOVE,
  OB_TWIN_PTX_LOAD_ATOMIC,
  OB_TWIN_PTX_STORE_ATOMIC,
  OB_TWIN_PTX_SWAP,
  OB_TWIN_PTX_MEET,
  OB_TWIN_PTX_SYNC_WARP,
  OB_TWIN_PTX_BARRIER,
  OB_TWIN_PTX_NAMED_BARRIER,
  OB_TWIN_PTX_CONVERGED,
  OB_TWIN_PTX_SLEEP,
  OB_TWIN_PTX_WHO,
  OB_TWIN_PTX_TRAP
};
typedef struct {
  void* to;
  const void* from;
  unsigned bytes;
  uint32_t mask;
  const char* what;
  ob_twin_resolve resolve;
  uint64_t expected, desired;
  int predicate;
  int relaxed;   // an atomic hands over nothing but its own value
  int acquires;  // what the thread does from then on comes after it
  int narrow;    // it is one for the threads of the block alone
  ob_twin_vote vote;
  ob_twin_dim thread, block, threads, blocks;
} ob_twin_ptx_request;
typedef void (*ob_twin_ptx_service)(enum ob_twin_ptx_wish wish, ob_twin_ptx_request* request);

void ob_twin_ptx(const char* text, ob_twin_ptx_operand* operands, unsigned count, ob_twin_ptx_service service);

// The address of the block's shared memory, in which PTX counts from 0.
const char* ob_twin_shared_window(void);

#ifdef __cplusplus
}
#endif
#endif

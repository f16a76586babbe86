// What compiled kernels and the runtime library call each other by: plain C, one library for the whole process.
#ifndef OPBRIDGE_TWIN_RUNTIME_H
#define OPBRIDGE_TWIN_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CUstream_st* cudaStream_t;

typedef struct {
  unsigned x, y, z;
} ob_twin_dim;

// A block as its threads see it.
typedef struct {
  ob_twin_dim index;
  ob_twin_dim block;
  ob_twin_dim grid;
  unsigned next;  // the first thread that has not begun, linear in the block
} ob_twin_block;

// Runs the threads of a block from `next` on, one after the other, and stops after one that had to wait: the fiber then
// belongs to that thread, and the others run in another fiber.
typedef void (*ob_twin_body)(const void* arguments, const ob_twin_block* block);

// There is one of each kernel, and of each instance of a template.
typedef struct {
  ob_twin_body body;
  size_t argument_bytes;
  int checked;
  // Null, or who it is where its source was compiled a second time, with checks: the source, and its name in there.
  const char* unit;
  const char* name;
} ob_twin_kernel;

// The same kernel of the same source, with checks.
void ob_twin_enroll(const char* unit, const char* name, ob_twin_body body);

// Launches -----------------------------------------------------------------------------------------------------------

// Says how the calling thread's next launch is to be; a kernel's function is that launch.
void ob_twin_configure(ob_twin_dim grid, ob_twin_dim block, size_t shared_bytes, cudaStream_t stream, int cooperative);
void ob_twin_launch(const ob_twin_kernel* kernel, const char* name, const void* arguments);

void ob_twin_launched(void);

// Between the two a kernel's function does not launch, but says which kernel it is.
void ob_twin_ask_kernel(void);
const ob_twin_kernel* ob_twin_asked_kernel(void);

// For threads of a block; `thread` is the caller, linear in the block -------------------------------------------------

// Before each thread of a checked kernel's loop.  0 where the loop is over, because the thread before has had to wait.
int ob_twin_thread_begins(unsigned x, unsigned y, unsigned z);
// Ends it, in a profiled kernel.
void ob_twin_thread_ends(void);

// In a checked kernel the runtime keeps them, and may let another thread run wherever the checks look.
// One instruction away, also in a library that was loaded late.
#define OB_TWIN_NEAR __attribute__((tls_model("initial-exec")))
extern __thread ob_twin_dim ob_twin_thread_index OB_TWIN_NEAR;
extern __thread ob_twin_dim ob_twin_block_index OB_TWIN_NEAR;
extern __thread ob_twin_dim ob_twin_block_size OB_TWIN_NEAR;
extern __thread ob_twin_dim ob_twin_grid_size OB_TWIN_NEAR;

// Waits for all threads of the block; the number of those whose predicate is not 0, and of all.
typedef struct {
  unsigned agreed;
  unsigned threads;
} ob_twin_vote;
ob_twin_vote ob_twin_barrier(unsigned thread, int predicate);

// Waits for the lanes of the mask that still run; the last one calls `resolve` for all.  It gets the input of each lane
// and the mask of lanes that have arrived, and returns the missing lanes whose values a lane needs.
typedef unsigned (*ob_twin_resolve)(void* const* brought, unsigned lanes);
void ob_twin_meet(unsigned thread, unsigned mask, const char* what, void* brought, ob_twin_resolve resolve);

// The thread leaves its kernel by a `return`.
void ob_twin_returned(unsigned thread);

void ob_twin_sync_warp(unsigned thread, unsigned mask);

// Waits until no lane of the warp can run on, and gives the lanes that then wait at the same place.
unsigned ob_twin_converged(unsigned thread);

void ob_twin_grid_barrier(unsigned thread);
int ob_twin_is_cooperative(void);

// Lets the block's other threads run, and other blocks, for code that spins.
void ob_twin_yield_thread(unsigned thread);
// The same from inside of the checks; other blocks run only if `elsewhere`.
void ob_twin_yield(int elsewhere);

// Sets the scope of the thread's atomics and fences, its block or the device, until the next call; returns the old
// scope.
int ob_twin_narrow(int block_alone);

// What the thread's asynchronous copy writes to shared memory until the thread has waited for it; the end of a group of
// such copies; and waits for all but the last `prior` groups, and for everything.
void ob_twin_copy_begins(const void* to, size_t bytes);
void ob_twin_copies_commit(void);
void ob_twin_copies_wait(unsigned prior);
void ob_twin_copies_wait_for_all(void);

// Copies in bulk: the thread is about to read shared memory by one, has read it, or is about to write by one; the end
// of a group of those that read; a wait for all but the last `prior` of these groups; and a fence between what threads
// and what copies see.
void ob_twin_bulk_reads(const void* from, size_t bytes);
void ob_twin_bulk_has_read(const void* from, size_t bytes);
void ob_twin_bulk_writes(void);
void ob_twin_bulk_commit(void);
void ob_twin_bulk_wait(unsigned prior);
void ob_twin_proxy_fence(void);

// A barrier for `count` threads of the block, one of 16 by number; who only arrives does not wait.
void ob_twin_named_barrier(unsigned thread, unsigned number, unsigned count, int waits);

// The block's memory for one __shared__ declaration, which `slot` stands for; 0 at first.
void* ob_twin_shared(unsigned* slot, size_t bytes, size_t alignment, const char* name);
void* ob_twin_dynamic_shared(size_t* bytes);
// Whether memory is the running block's, where no other block and so no other OS thread is.
int ob_twin_is_shared(const void* memory);

__attribute__((noreturn)) void ob_twin_trap(unsigned thread, const char* why);
__attribute__((noreturn)) void ob_twin_assert_failed(unsigned thread, const void* where, const char* what,
                                                     const char* file, int line);

// Ends the block, and the launch with this error.
__attribute__((noreturn)) void ob_twin_abandon(int error);

// Whether the caller is device code.
int ob_twin_in_kernel(void);
// In a function of the device's alone: reports a call by host code.
void ob_twin_device_only(const char* name);

// For hosts ----------------------------------------------------------------------------------------------------------

// A __device__ or __managed__ variable of a module, and a __constant__ one.
void ob_twin_variable(const void* memory, size_t bytes, const char* name);
void ob_twin_constant(const void* memory, size_t bytes, const char* name);
// A host may hand the address of a variable to a kernel that writes there, of a `__constant__` one too.
void ob_twin_ask_for_symbol(const void* symbol);

// The function that calls a kernel by pointers to its arguments, and the offsets of packed arguments.
typedef struct {
  size_t offset;
  size_t bytes;
} ob_twin_parameter;
typedef struct {
  void (*call)(const void* function, void** arguments);
  const ob_twin_parameter* parameters;
  size_t count;
} ob_twin_function;
// Those of an image that is loaded: kernels by the addresses of their functions, and variables, whose names are for
// those without a symbol.
void ob_twin_enroll_function(const void* address, const ob_twin_function* function);
void ob_twin_enroll_variable(const char* name, void* address, size_t bytes);

// Checks an access that a CUDA library, called from `where`, makes for a program; returns 0 if the memory does not
// exist.
int ob_twin_library_access(const void* begin, size_t bytes, int writes, const char* how, const void* where);

// Forgets errors, sticky ones too.
void ob_twin_clear_errors(void);

#ifdef __cplusplus
}
#endif
#endif

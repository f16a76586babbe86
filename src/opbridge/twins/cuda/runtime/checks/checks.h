// The calls of the twin's execution layer to its checks: memory that is allocated and freed, and what runs now.
//
// A module built with checks calls a function before every load and store of its own code (the compiler's
// instrumentation for data races, without its library).  Those calls contain only an address.  The calls declared here
// tell which thread of which block makes them, and what memory is at the address.
#ifndef OPBRIDGE_TWIN_CHECKS_H
#define OPBRIDGE_TWIN_CHECKS_H

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <vector>

#include "state.h"

namespace opbridge_twin {

// Given by the execution layer, which the checks do not include.  The first ends the running block, from whatever depth
// of a device thread: no exception can do it, because the compiler takes the instrumentation calls for ones that do not
// throw.  The second lets the block's other threads run, where they can, and other blocks too where no thread of its
// own may be what it waits for.
extern "C" __attribute__((noreturn)) void ob_twin_abandon(int cuda_error);
extern "C" void ob_twin_yield(int elsewhere);
// Says which blocks were left unchecked, where some were; empty otherwise.
std::string sampled_in_words();

namespace checks {

// The code that may access a piece of memory.
enum class Space : uint8_t {
  device,    // cudaMalloc and similar: for device code only
  managed,   // for both
  pinned,    // host memory that device code may use
  variable,  // a __device__ or __managed__ variable of a module
  constant,  // a __constant__ one
  adopted,   // a framework's tensor that stands for device memory during a call
};

// Sizes of a grid or a block, none of them 0.
struct Dim {
  uint32_t x, y, z;
  uint64_t count() const { return static_cast<uint64_t>(x) * y * z; }
};

// Memory
// ---------------------------------------------------------------------------------------------------------------

// The address space that device memory is taken from; host code has no business in it.
void device_region(const void* begin, size_t bytes);

// Whether what is known of the memory, which takes several times its size, can be kept.
bool can_check(const void* begin, size_t bytes);

// `how` is the function, or the variable's or tensor's name; `made_at` is a return address in the code that asked.
void allocated(Space space, const void* begin, size_t bytes, const char* how, const void* made_at);

// A `__constant__` one may be written by kernels from now on.
void let_be_written(const void* variable);

// False where `begin` is nothing to be freed, which is then reported.
bool freed(const void* begin, const char* how, const void* made_at);

// The host copies to, from or fills device memory.  False where it has not that many bytes, which is then reported.
bool host_access(const void* begin, size_t bytes, bool writes, const char* how, const void* made_at);
// The same for work of the stream that is the default one at the time.
bool stream_access(const void* begin, size_t bytes, bool writes, const char* how, const void* made_at);

// `side`, which a copy's direction calls the host's, is the device's.
void copied_in_another_direction(const void* side, bool writes, const char* how, const void* made_at);

// Host code has used device memory; what exactly it read or wrote is not known.
void host_touched(const void* address, const void* at);

// A kernel without checks ran: what it wrote was not seen.
void unseen_launch();

// Streams
// --------------------------------------------------------------------------------------------------------------

// All work is done when the call that asks for it returns; what these calls would order on a GPU is what counts.
void stream_made(const void* stream, bool blocking);
void stream_gone(const void* stream);
void event_recorded(const void* event, const void* stream);
void stream_waits(const void* stream, const void* event);
void host_waits_for_stream(const void* stream);
void host_waits_for_event(const void* event);
void host_waits_for_all();

// While it lives, the default stream of this thread is another one; null leaves it.
class OnStream {
 public:
  explicit OnStream(const void* stream);
  ~OnStream();
  OnStream(const OnStream&) = delete;
  OnStream& operator=(const OnStream&) = delete;

 private:
  const void* before_;
};

// Execution
// ------------------------------------------------------------------------------------------------------------

// A launch as the host asked for it; it stays as it is until the launch has ended.
struct LaunchInfo {
  const char* kernel;  // as the user wrote it
  Dim grid;
  Dim block;
  const void* made_at;    // a return address at the launch
  const void* arguments;  // what the kernel's threads may read besides
  size_t argument_bytes;
  uint64_t checked_blocks;  // the others are run without checks
  const void* stream;
  size_t dynamic_shared_bytes;
};

class Launch;
class Block;

// A thread of a block that cannot go on.
struct Waiting {
  uint32_t linear_thread;
  const void* at;  // a return address where it waits; null where the thread has ended
};

Launch* launch_begin(const LaunchInfo& info);
// The CUDA error that the launch ends with, 0 for none; its report is on its way to the user.
int launch_end(Launch* launch);

// On the thread that runs the block.  Null where the block is not to run, because an earlier one has failed.
// `shared` is the whole arena, aligned to its size; `view` is what the execution layer lets the kernel's code look
// into.
Block* block_begin(Launch* launch, uint64_t linear_block, const void* shared, size_t shared_bytes,
                   const void* view = nullptr, size_t view_bytes = 0);
// The block goes on after another one ran on this thread (grid barriers).
void block_resumed(Block* block);
void block_end(Block* block);

// Static and dynamic __shared__ memory of the current block, as its layout becomes known.
void shared_variable(const void* begin, size_t bytes, const char* name);

// From here on, this thread of the current block runs, on this stack.
void thread_current(uint32_t linear_thread, const void* stack, size_t stack_bytes, const ob_twin_local** locals);
inline void thread_current(uint32_t linear_thread) {  // on the same stack as the one before
  if (__builtin_expect(worker.has_suspicions, 0)) settle_suspicions();
  const Cell first = worker.loop_stamp;
  worker.stamp = first != 0 ? first + (Cell{linear_thread} << kThreadShift) : stamp_of(linear_thread);
}

// The thread runs inline PTX.  Its accesses are code of the twin, and are reported at this place; null ends it.
void runs_asm(const void* at);
const void* place_of_asm();
// It has found the phase of an mbarrier complete or not.
void asked_mbarrier(const void* barrier, uint64_t state, bool complete);

void barrier_passed();  // by all threads of the block
// Before that, where not all of them came to the same call of it: fails where the calls are on different lines.  (One
// line may be several calls, because compilers copy code.)
void barriers_meet(const std::vector<Waiting>& threads);
// Reports a barrier before which some threads have returned, which GPUs since Volta allow.
void early_return(const std::vector<Waiting>& threads);
void warp_synced(uint32_t warp, uint32_t lane_mask);  // __syncwarp and similar; shuffles do not order memory
void grid_synced(Launch* launch);                     // by all blocks, before the first of them continues
void fence();                                         // __threadfence and similar
void released();                                      // the thread has come to a barrier for some threads of the block
void acquired();                                      // all have come to that one

// What the execution layer finds itself -------------------------------------------------------------------------------

// Host code has called a device function; `at` is in that function, or after its call.
void device_function_on_host(const char* name, const void* at);

// The twin's own code has written what the thread gave it a pointer to.
void written_unseen(void* memory, size_t bytes);

// Why a block cannot go on.
enum class Failure : uint8_t {
  divergent_barrier,  // some threads wait at one barrier, others at another or nowhere
  early_return,       // of some threads, and others wait at a barrier: no failure
  lane_not_in_mask,   // a _sync function whose mask lacks the calling lane
  lane_never_comes,   // a _sync function that wants something of a lane that has ended, or waits elsewhere
  shared_memory,      // more __shared__ variables than a block may have
  trap,               // __trap and assert
  bad_call,           // a call of something other than a device function
};

// Reports the failure of the current block.  `detail` completes the sentence, for example with the mask.
[[noreturn]] void fail(Failure failure, const char* detail, const std::vector<Waiting>& threads);
// The same for a kernel without checks, of whose launch the checks know nothing.
[[noreturn]] void fail(Failure failure, const char* detail, const std::vector<Waiting>& threads,
                       const LaunchInfo& launch, uint64_t linear_block);

// A launch that no GPU accepts; `why` is a sentence, and `advice` what to do.
void bad_launch(const LaunchInfo& info, const std::string& why, const std::string& advice);
// A launch failed and nobody asked for its error.
void unchecked_error(const char* kernel, const char* error, const void* made_at);

}  // namespace checks
}  // namespace opbridge_twin

// For a host that hands its tensors to kernels as device memory: for the time of a call, kernels may use these bytes.
// `name` is what reports call them.
extern "C" void ob_twin_adopt(const void* begin, size_t bytes, const char* name);
extern "C" void ob_twin_release(const void* begin);

// A stream of a framework's, which keeps the order of its work itself.
extern "C" void ob_twin_order_unseen(const void* stream);

// A host that shows reports itself: nothing goes to stderr, and the exit code of the process is left alone.
extern "C" void ob_twin_attach_host();
// What was reported since the last call, null for nothing.  The text stays until the next call from this thread.
extern "C" const char* ob_twin_take_reports();

// Starts the count of runs at a number that a process reaches only after millions of blocks, for tests.
extern "C" void ob_twin_count_runs_from(uint64_t run);

#endif  // OPBRIDGE_TWIN_CHECKS_H

// Calls that record the threads of a block for a profile.  They are functions in the library for profiles and empty in
// the other one, so that a run without a profile does not pay for one.
#ifndef OPBRIDGE_TWIN_RUNTIME_PROFILE_H
#define OPBRIDGE_TWIN_RUNTIME_PROFILE_H

#include <opbridge_twin/runtime.h>
#include <stddef.h>
#include <stdint.h>

#include <vector>

namespace opbridge_twin {

class Block;
struct Launch;

namespace profile {

// What a thread does that is counted.
enum class Kind : uint8_t { block, load, store, atomic, barrier, meeting, branch };

#ifdef OPBRIDGE_TWIN_PROFILE
#define OB_TWIN_TOLD(...) __VA_ARGS__;
#else
#define OB_TWIN_TOLD(...) \
  inline __VA_ARGS__ {}
#endif

// One launch with checks at a time.
OB_TWIN_TOLD(void launch_begins(const Launch&))

// Blocks, on the OS thread that runs them; those of a cooperative launch take turns on one.
OB_TWIN_TOLD(void block_begins(const Block&, const Launch&))
OB_TWIN_TOLD(void block_resumed(const Block&))
OB_TWIN_TOLD(void block_ends(const Block&))
OB_TWIN_TOLD(void block_abandoned(const Block&))

// Threads of the running block, linear in it; `frame` is the end of the caller's stack frame.
OB_TWIN_TOLD(void thread_begins(unsigned, const void* /* frame */))
OB_TWIN_TOLD(void thread_goes_on(unsigned))
// Another thread is about to begin.
OB_TWIN_TOLD(void thread_is_left())
// All threads of the block have come.
OB_TWIN_TOLD(void barrier_passed())

// `at` is the return address in the kernel.
OB_TWIN_TOLD(void accessed(const volatile void*, size_t, Kind, const void* /* at */, const void* /* frame */))
// One turn of a loop that makes an atomic function of a load and a compare-and-swap: what it did before is part of it.
OB_TWIN_TOLD(void attempted(const volatile void*, size_t, const void* /* at */, const void* /* frame */))
// Up to thread_goes_on.
OB_TWIN_TOLD(void waited(Kind, const void* /* at */, const void* /* frame */))

#undef OB_TWIN_TOLD

// Whether blocks that are not counted do not run, so that hardly any memory is touched.
// The blocks of a launch that run then; empty where all of them do.
#ifdef OPBRIDGE_TWIN_PROFILE
bool counts_alone();
std::vector<uint64_t> blocks_alone(ob_twin_dim grid, ob_twin_dim block);
#else
inline bool counts_alone() { return false; }
inline std::vector<uint64_t> blocks_alone(ob_twin_dim, ob_twin_dim) { return {}; }
#endif

}  // namespace profile
}  // namespace opbridge_twin
#endif

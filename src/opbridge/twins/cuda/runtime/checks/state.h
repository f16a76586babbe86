// What the checks know of every four bytes, and of the thread that runs: all that an instrumented access looks at.
#ifndef OPBRIDGE_TWIN_CHECKS_STATE_H
#define OPBRIDGE_TWIN_CHECKS_STATE_H

#include <stddef.h>
#include <stdint.h>

struct ob_twin_local;

namespace opbridge_twin::checks {

class Block;

// One for each aligned four bytes (a granule): who touched them last, how, and where in the code.
//
//   63         38 37        26 25         16 15    13 12       0
//   | run        | clock       | thread     | state  | site    |
//
// A run is the number of one block's run, counted over the life of the process, and a clock counts what a thread has
// passed in it, so that of two cells of one block the greater is the later, and everything before a launch is less than
// a number (the launch's floor).  Most accesses are decided by one comparison with such a floor.
using Cell = uint64_t;

constexpr int kStateShift = 13;
constexpr int kThreadShift = 16;
constexpr int kClockShift = 26;
constexpr int kRunShift = 38;

constexpr Cell kSiteMask = (Cell{1} << kStateShift) - 1;
constexpr Cell kMostClock = (Cell{1} << (kRunShift - kClockShift)) - 1;
constexpr Cell kMostRun = (Cell{1} << (64 - kRunShift)) - 2;  // the last one would look like kSplit

constexpr Cell kAsk = 0;           // nothing is known: the table of allocations says what lies here
constexpr Cell kUnset = 1;         // allocated, and nobody has written it
constexpr Cell kFresh = 2;         // holds a value, and no kernel has touched it
constexpr Cell kSplit = ~Cell{0};  // each byte has its own cell, because they were used apart
// A `__constant__` variable's, as if many had read it after all that will ever be: no read changes it.
constexpr Cell kConstant = ~(Cell{1} << kStateShift);

enum State : Cell {
  kRead = 0,
  kWrite = 1,
  kAtomic = 2,
  kAtomicRead = 3,
  // Read by several threads since it was written: of one warp, one block, or several blocks.
  kWarpReads = 4,
  kBlockReads = 5,
  kGridReads = 6,
};
constexpr Cell kManyReaders = Cell{4} << kStateShift;

inline Cell state_of(Cell cell) { return cell >> kStateShift & 7; }
inline Cell thread_of(Cell cell) { return cell >> kThreadShift & 1023; }
inline Cell clock_of(Cell cell) { return cell >> kClockShift & kMostClock; }
inline Cell run_of(Cell cell) { return cell >> kRunShift; }
inline Cell with_state(Cell stamp, State state) { return stamp | Cell{state} << kStateShift; }
inline bool is_plain_read(Cell cell) { return state_of(cell) == kRead || (cell & kManyReaders) != 0; }
// The cell still describes the first reader.
inline Cell as_read_by_many(Cell cell, State state) { return with_state(cell & ~(Cell{7} << kStateShift), state); }

// The cells of 16 MiB of address space, followed by one cell a byte for the granules that are split.
constexpr int kChunkShift = 24;
constexpr size_t kChunkBytes = size_t{1} << kChunkShift;
constexpr size_t kChunkCells = kChunkBytes / 4;
constexpr size_t kChunks = size_t{1} << (47 - kChunkShift);

inline size_t chunk_index(uintptr_t address) { return address >> kChunkShift & (kChunks - 1); }
inline size_t cell_index(uintptr_t address) { return (address & (kChunkBytes - 1)) >> 2; }
inline size_t byte_cell_index(uintptr_t address) { return kChunkCells + (address & (kChunkBytes - 1)); }

// Chunks by address; and one without any, which host code looks into, so that it takes no test to tell the two apart.
extern Cell* directory[kChunks];
extern Cell* no_directory[kChunks];

// What runs on this operating-system thread.  Everything an access needs in the common case is here.
struct Worker {
  Cell** chunks = no_directory;
  Cell stamp = 0;           // run, clock and thread of the running thread
  Cell loop_stamp = 0;      // … of thread 0, where no thread of the block is ahead of another; else 0
  Cell launch_floor = 0;    // what is less was there before the launch
  Cell ordered_floor = 0;   // … and is ordered before it: other streams' work may not be
  Cell run_floor = 0;       // the block's run, without clock and thread
  Cell before_barrier = 0;  // less than so much above it, and it was before the block's last barrier
  Cell block_floor = 0;     // the first run of the block
  uintptr_t stack_begin = 0;
  size_t stack_bytes = 0;
  const ob_twin_local** locals = nullptr;  // the local arrays on that stack
  uintptr_t shared_begin = 0;
  size_t shared_bytes = 0;
  uintptr_t harmless_begin = 0;  // memory last found to be nobody's business: constants, arguments, thread-local data
  size_t harmless_bytes = 0;
  Block* block = nullptr;
  const void* asm_at = nullptr;  // the place of the inline PTX that the thread runs
  uint32_t spins = 0;            // atomics since another thread of the block ran
  uint32_t rows = 0;             // of many spins
  uint32_t vain_looks = 0;       // since the value that the running thread looks for was another one
  uint32_t patience = 64;        // after so many of these it lets others run
  const volatile void* looked_at = nullptr;
  bool narrow = false;  // atomics and fences are for the threads of the block alone
  uint64_t looked_for = 0;
  bool has_suspicions = false;  // of values

  uint32_t thread() const { return static_cast<uint32_t>(thread_of(stamp)); }
  Cell barrier_floor() const { return run_floor + before_barrier; }
};

// In the static block of the thread of the machine, and never in need of a constructor: an instruction to reach.
extern __thread Worker worker __attribute__((tls_model("initial-exec")));

// The running thread's own stack, and what was last found to be harmless.
inline bool is_out_of_scope(uintptr_t address) {
  return address - worker.stack_begin < worker.stack_bytes || address - worker.harmless_begin < worker.harmless_bytes;
}

// The clocks of the block's threads differ: looks up this one's.
Cell stamp_of(uint32_t thread);

// Looks at what racing threads have written, before another one writes.
void settle_suspicions();

// Places in the code, by a number that fits a cell; 0 where the table is full.
Cell site_of(const void* return_address);
const void* site_address(Cell site);

// Places of plain reads whose value an atomic of the same thread's has compared with what was there by then: they may
// have read anything.
void remember_compared_read(Cell site);
bool is_compared_read(Cell site);

// Places of atomics for the threads of a block alone, and of volatile accesses that pass for atomics.
void remember_narrow(Cell site);
bool is_narrow(Cell site);
void remember_volatile(Cell site);
bool is_volatile(Cell site);

// Places of copies in bulk, whose writes no thread has made.
void remember_bulk(Cell site);
bool is_bulk(Cell site);

// Atomics both read and write.
struct Access {
  bool reads;
  bool writes;
  bool atomic;
  bool compares = false;  // writes only where it finds what the program has read before
  bool narrow = false;    // atomic for the threads of its block alone
  bool is_volatile = false;
};
inline bool is_plain_load(Access access) { return !access.writes && !access.atomic; }
constexpr Access kLoad{true, false, false};
constexpr Access kStore{false, true, false};
constexpr Access kAtomicLoad{true, false, true};
constexpr Access kAtomicStore{false, true, true};
constexpr Access kAtomicUpdate{true, true, true};
constexpr Access kCompareAndSwap{true, true, true, true};

// Everything that one comparison does not decide.  `at` is the return address in the instrumented code.
void slow_access(uintptr_t address, size_t bytes, Access access, const void* at);

}  // namespace opbridge_twin::checks

#endif  // OPBRIDGE_TWIN_CHECKS_STATE_H

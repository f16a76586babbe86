// The functions of the twin's library for the headers: local memory, queues, pipes and flags of one block.
//
// A block runs on one thread, with its instructions in program order.  In addition, each pipe of the hardware has a
// vector clock: the work of every other pipe that it knows to be complete.  Flags, queues and barriers pass clocks on.
// An access that no clock orders after the previous one lacks a synchronisation, although it ran later here.
#ifndef OPBRIDGE_ASCEND_MACHINE_H
#define OPBRIDGE_ASCEND_MACHINE_H

#include <stddef.h>
#include <string.h>

#include <type_traits>

#include "place.h"
#include "qualifiers.h"

// The library's functions have names as in C, because a library of kernels keeps its C++ names to itself.
#define OPBRIDGE_ASCEND_LIBRARY(name) __asm__("ob_ascend_" #name)

namespace opbridge_ascend {

constexpr size_t kBlockBytes = 32;
constexpr size_t kRepeatBytes = 256;
constexpr size_t kMaxRepeats = 255;
constexpr int kEvents = 8;
constexpr uint32_t kCrossCoreFlags = 11;

// A stretch of local memory, as a tensor names it.
struct Local {
  uint8_t* data = nullptr;
  uint32_t bytes = 0;
  uint16_t buffer = 0;      // of the block's list
  uint16_t generation = 0;  // of the buffer, which FreeTensor ends
};

// A stretch of global memory; zero bytes: the kernel did not say how long it is.
struct Global {
  uint8_t* data = nullptr;
  uint64_t bytes = 0;
};

// What copies to global memory do with what is there, until it is set otherwise.
enum class Atomic : uint8_t { none, add, max, min };

// What an instruction finds set when it starts; plain data, so that looking costs nothing.
struct Registers {
  uint32_t index = 0;      // of a core
  uint32_t count = 1;      // of blocks
  uint32_t per_block = 1;  // cores with vector units that a block has
  bool asked_for_count = false;
  bool checked = false;
  bool counter_mode = false;
  uint64_t mask[2] = {~uint64_t{0}, ~uint64_t{0}};
  Place mask_set{nullptr, 0};  // by what, if by anything
  Atomic atomic = Atomic::none;
  uint64_t compared[2] = {0, 0};  // CMPMASK: what Compare without a destination found
  float deq_scale = 1;
  bool asked_for_kind = false;  // of core
  bool unset_is_data = false;   // has read a number from memory that looks like that of a variable without a value
  bool is_cube = false;         // in a kernel for both kinds: the run as the core with the matrix unit
  uint32_t out_of_line = 0;     // how many functions that are not inline the block is in
};

// Whether the core that this thread runs as is one with a matrix unit, for kernels that ask.
bool is_cube_core() OPBRIDGE_ASCEND_LIBRARY(is_cube_core);

// A core with a matrix unit waits in REGIST_MATMUL_OBJ for what the others send, and does no more of the kernel.
void serve_matmul() OPBRIDGE_ASCEND_LIBRARY(serve_matmul);

// Returns the registers of the block that this thread runs.
Registers& registers() OPBRIDGE_ASCEND_LIBRARY(registers);
// Null outside of kernels.
Registers* registers_if_any() OPBRIDGE_ASCEND_LIBRARY(registers_if_any);

// From a tensor into local memory.
void copy_in(void* to, const void* from, size_t bytes) OPBRIDGE_ASCEND_LIBRARY(copy_in);
// From local memory into a tensor, of which the library knows how to write much at a time.
void copy_out(const Global& memory, void* to, const void* from, size_t bytes) OPBRIDGE_ASCEND_LIBRARY(copy_out);

// While it lives, a function runs that is not inline: the rewritten source begins each of them with one.
class OutOfLine {
 public:
  OutOfLine() : registers_(registers_if_any()) {
    if (registers_ != nullptr) ++registers_->out_of_line;
  }
  ~OutOfLine() {
    if (registers_ != nullptr) --registers_->out_of_line;
  }
  OutOfLine(const OutOfLine&) = delete;
  OutOfLine& operator=(const OutOfLine&) = delete;

 private:
  Registers* const registers_;
};

// Whether all bits but the sign are ones.  Variables of a kernel that nothing is assigned to look like that, because
// stacks are painted so, and so does what floating-point arithmetic makes of them: a NaN stays the one it was.
template <class T>
bool looks_unset(const T& number) {
  if constexpr (std::is_integral_v<T> || !(sizeof(T) == 2 || sizeof(T) == 4)) {
    return false;
  } else {
    uint32_t bits = ~uint32_t{0};
    memcpy(&bits, &number, sizeof number);
    return (bits | uint32_t{1} << (8 * sizeof number - 1)) == ~uint32_t{0};
  }
}

// One instruction: what it reads and writes is checked before it is done.
class Instruction {
 public:
  Instruction(const char* name, pipe_t pipe, Place at) : checked_(registers().checked) {
    if (checked_) begin(name, pipe, at);
  }
  void reads(const Local& local, const void* at, size_t bytes) {
    if (checked_) access(local, at, bytes, false);
  }
  void writes(const Local& local, const void* at, size_t bytes) {
    if (checked_) access(local, at, bytes, true);
  }
  void reads(const Global& global, const void* at, size_t bytes) {
    if (checked_) access(global, at, bytes, false);
  }
  void writes(const Global& global, const void* at, size_t bytes) {
    if (checked_) access(global, at, bytes, true);
  }
  // Checks a load of whole blocks, the last of which may end after the memory; returns how many bytes exist.
  size_t loads(const Global& global, const void* at, size_t bytes) {
    return checked_ ? load(global, at, bytes) : bytes;
  }
  // Call this after such a load: bytes that other blocks write at the same time are unknown.
  void loaded(const Local& to_memory, const void* to, const void* from, size_t bytes) {
    if (checked_) forget_doubtful(to_memory, to, from, bytes);
  }
  // Bytes that may be unknown: whether all of them are known.
  bool looks_at(const Local& local, const void* at, size_t bytes) {
    if (!checked_ || bytes == 0) return true;
    touch(local, at, bytes, false);
    return memchr(known(local, at), 0, bytes) == nullptr;
  }
  bool knows(const Local& local, const void* at, size_t bytes) { return memchr(known(local, at), 0, bytes) == nullptr; }
  void forget(const Local& local, const void* at, size_t bytes) { memset(known(local, at), 0, bytes); }
  void aligned(const Local& local, const char* operand, size_t alignment = kBlockBytes) {
    if (checked_) check_alignment(local, operand, alignment);
  }
  void placed(const Local& local, const char* operand, AscendC::TPosition expected) {
    if (checked_) check_position(local, operand, expected);
  }
  // Bytes that are moved and not looked at: they may be unknown, and are then unknown where they come to.
  // move(to, from) is what is done to the bytes, and to what is known of each of them.
  template <class T, class Move>
  void moves(const Local& to_memory, T* to, const Local& from_memory, const T* from, size_t bytes, Move move) {
    if (checked_) {
      touch(from_memory, from, bytes, false);
      touch(to_memory, to, bytes, true);
      move(reinterpret_cast<T*>(known(to_memory, to)), reinterpret_cast<const T*>(known(from_memory, from)));
    }
    move(to, from);
  }
  // Bytes that the instruction uses for itself: what stands in them afterwards nobody knows.
  void uses_up(const Local& local, void* at, size_t bytes) {
    if (!checked_ || bytes == 0) return;
    touch(local, at, bytes, true);
    memset(at, 0xff, bytes);
    memset(known(local, at), 0, bytes);
    leave_undefined(local);
  }
  // A store of the scalar unit, which stays in its cache.
  void caches(const Global& global, const void* at, size_t bytes) {
    if (checked_) cache(global, at, bytes);
  }
  // Declares that the mask register selects the lanes.
  void masked(uint32_t lanes, uint32_t per_repeat) {
    if (checked_) note_mask(lanes, per_repeat);
  }
  // What is known of one tensor's contents explains what is unknown of another's.
  void suspects(const Local& read) {
    if (checked_) suspect(read);
  }
  void blames(const Local& written) {
    if (checked_) blame(written);
  }
  // A number that the kernel has computed by itself.
  template <class T>
  void takes(const T& number) {
    if (checked_ && looks_unset(number)) take_unset();
  }
  // A number that the kernel may compute with from now on.
  template <class T>
  void gives(const T& number) {
    if (checked_ && looks_unset(number)) registers().unset_is_data = true;
  }
  // A parameter that the hardware does not take.
  void requires_that(bool right, const char* parameter, long long value, const char* expected) {
    if (checked_ && !right) bad_parameter(parameter, value, expected);
  }
  bool checked() const { return checked_; }

 private:
  void begin(const char* name, pipe_t pipe, Place at) OPBRIDGE_ASCEND_LIBRARY(instruction);
  void access(const Local& local, const void* at, size_t bytes, bool writes) OPBRIDGE_ASCEND_LIBRARY(access_local);
  void access(const Global& global, const void* at, size_t bytes, bool writes) OPBRIDGE_ASCEND_LIBRARY(access_global);
  size_t load(const Global& global, const void* at, size_t bytes) OPBRIDGE_ASCEND_LIBRARY(load_global);
  void take_unset() OPBRIDGE_ASCEND_LIBRARY(take_unset);
  void check_alignment(const Local& local, const char* operand, size_t alignment)
      OPBRIDGE_ASCEND_LIBRARY(check_alignment);
  void check_position(const Local& local, const char* operand, AscendC::TPosition expected)
      OPBRIDGE_ASCEND_LIBRARY(check_position);
  void touch(const Local& local, const void* at, size_t bytes, bool writes) OPBRIDGE_ASCEND_LIBRARY(touch_local);
  uint8_t* known(const Local& local, const void* at) OPBRIDGE_ASCEND_LIBRARY(known_local);
  void leave_undefined(const Local& local) OPBRIDGE_ASCEND_LIBRARY(leave_undefined);
  void cache(const Global& global, const void* at, size_t bytes) OPBRIDGE_ASCEND_LIBRARY(cache_global);
  void note_mask(uint32_t lanes, uint32_t per_repeat) OPBRIDGE_ASCEND_LIBRARY(note_mask);
  void suspect(const Local& read) OPBRIDGE_ASCEND_LIBRARY(suspect_local);
  void blame(const Local& written) OPBRIDGE_ASCEND_LIBRARY(blame_local);
  void forget_doubtful(const Local& to_memory, const void* to, const void* from, size_t bytes)
      OPBRIDGE_ASCEND_LIBRARY(forget_doubtful);
  [[noreturn]] void bad_parameter(const char* parameter, long long value, const char* expected)
      OPBRIDGE_ASCEND_LIBRARY(bad_parameter);

  bool checked_;
};

// Local memory for `count` buffers of `bytes` each; the number of the first.
uint16_t allocate_local(uint32_t count, uint32_t bytes, AscendC::TPosition position, Place at)
    OPBRIDGE_ASCEND_LIBRARY(allocate_local);
// A stretch of the whole memory that a position is in, for kernels that divide it themselves.
Local static_memory(AscendC::TPosition position, uint32_t begin, uint32_t bytes, Place at)
    OPBRIDGE_ASCEND_LIBRARY(static_memory);
// The position passed to InitBuffer; MAX for a tensor without memory.
AscendC::TPosition position_of(const Local& local) OPBRIDGE_ASCEND_LIBRARY(position_of);
Local local_memory(uint16_t buffer) OPBRIDGE_ASCEND_LIBRARY(local_memory);
// What an address that a kernel got of a tensor belongs to.
Local local_memory_at(const void* address) OPBRIDGE_ASCEND_LIBRARY(local_memory_at);
// TPipe::Reset and Destroy: what was allocated is free for others.
void release_local() OPBRIDGE_ASCEND_LIBRARY(release_local);

// The part of a queue that does not depend on its type.
class Queue {
 public:
  Queue(AscendC::TPosition position, pipe_t producer, pipe_t consumer, int depth)
      : position_(position), producer_(producer), consumer_(consumer), depth_(depth) {}

  void init(uint32_t count, uint32_t bytes, Place at) OPBRIDGE_ASCEND_LIBRARY(queue_init);
  Local alloc(Place at) OPBRIDGE_ASCEND_LIBRARY(queue_alloc);
  bool enqueue(const Local& tensor, Place at) OPBRIDGE_ASCEND_LIBRARY(queue_enqueue);
  Local dequeue(Place at) OPBRIDGE_ASCEND_LIBRARY(queue_dequeue);
  void free(const Local& tensor, Place at) OPBRIDGE_ASCEND_LIBRARY(queue_free);
  bool has_idle() const OPBRIDGE_ASCEND_LIBRARY(queue_has_idle);
  int queued() const { return length_; }
  int limit() const { return depth_; }

 private:
  static constexpr int kMost = 64;

  void check_owns(const Local& tensor, const char* call, Place at) const;

  AscendC::TPosition position_;
  pipe_t producer_, consumer_;
  int depth_;
  uint16_t first_ = 0;
  uint16_t count_ = 0;
  uint16_t next_ = 0;
  int head_ = 0, length_ = 0;
  uint16_t waiting_[kMost];
};

void set_flag(pipe_t from, pipe_t to, int id, Place at) OPBRIDGE_ASCEND_LIBRARY(set_flag);
void wait_flag(pipe_t from, pipe_t to, int id, Place at) OPBRIDGE_ASCEND_LIBRARY(wait_flag);
// Events that nobody has set, for FetchEventID, and those that AllocEventID has given away.
int fetch_event(pipe_t from, pipe_t to) OPBRIDGE_ASCEND_LIBRARY(fetch_event);
int alloc_event(pipe_t from, pipe_t to, Place at) OPBRIDGE_ASCEND_LIBRARY(alloc_event);
void release_event(pipe_t from, pipe_t to, int id) OPBRIDGE_ASCEND_LIBRARY(release_event);
void barrier(pipe_t pipe) OPBRIDGE_ASCEND_LIBRARY(barrier);
// Waits for all blocks of the launch.
void sync_all(bool with_cubes, Place at) OPBRIDGE_ASCEND_LIBRARY(sync_all);
// The flags between cores: of all vector cores of the launch (mode 0), of those of a block (1), or between these and
// the matrix unit (2).
void set_cross_core_flag(int mode, uint32_t id, Place at) OPBRIDGE_ASCEND_LIBRARY(set_cross_core_flag);
void wait_cross_core_flag(uint32_t id, Place at) OPBRIDGE_ASCEND_LIBRARY(wait_cross_core_flag);
// The flag at an address of global memory, which one block sets for another.
void set_flag_at(const int32_t* flag, Place at) OPBRIDGE_ASCEND_LIBRARY(set_flag_at);
void wait_flag_at(const int32_t* flag, Place at) OPBRIDGE_ASCEND_LIBRARY(wait_flag_at);
// Writes back the scalar unit's cache line of an address, or all of them for null.
void clean_cache(const void* address) OPBRIDGE_ASCEND_LIBRARY(clean_cache);
// Held while memory is changed that other blocks may change by atomics too.
void lock_atomics() OPBRIDGE_ASCEND_LIBRARY(lock_atomics);
void unlock_atomics() OPBRIDGE_ASCEND_LIBRARY(unlock_atomics);
// One copy to global memory at a time, where copies add up.
class AtomicScope {
 public:
  AtomicScope() { lock_atomics(); }
  ~AtomicScope() { unlock_atomics(); }
  AtomicScope(const AtomicScope&) = delete;
  AtomicScope& operator=(const AtomicScope&) = delete;
};

// Ends the block where a kernel's ASSERT does not hold.
void assert_that(bool holds, const char* what, Place at = Place::here()) OPBRIDGE_ASCEND_LIBRARY(assert_that);

// Checks that the struct of the host is as large as that of the kernel.
void check_tiling(const void* memory, size_t bytes, Place at) OPBRIDGE_ASCEND_LIBRARY(check_tiling);
uint64_t tiling_key() OPBRIDGE_ASCEND_LIBRARY(tiling_key);

}  // namespace opbridge_ascend
#endif

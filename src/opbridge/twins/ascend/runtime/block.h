// One block: local memory with what is known of each byte, the clocks of its pipes, and its flags.
#ifndef OPBRIDGE_ASCEND_BLOCK_H
#define OPBRIDGE_ASCEND_BLOCK_H

#include <opbridge_ascend/machine.h>

#include <array>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "launch.h"
#include "races.h"
#include "recent.h"
#include "soc.h"
#include "writing.h"

namespace opbridge_ascend {

constexpr int kPipes = PIPE_ALL;

// How many instructions of each pipe are known to be finished.
using Clock = std::array<uint32_t, kPipes>;

// What a queue has done with a buffer last.
enum class State : uint8_t { idle, allocated, queued, dequeued };

// A piece of local memory; its generation grows each time it is handed out, which tells a stale tensor from a live one.
struct Buffer {
  uint32_t begin, bytes;  // in the memory of all spaces
  AscendC::TPosition position;
  State state;
  uint16_t generation;
  Clock handed;  // by its last owner
  Place place;   // of the last call for it
};

// One event between two pipes: set and waited for in turn.
struct Flag {
  bool is_set = false;
  Clock clock{};
  Place place{};
};

class Recording;

// One core: its local memory, its pipes' clocks and its findings. It belongs to one thread, which runs cores one after
// the other.
class Block {
 public:
  // This thread's, made when it is first asked for.
  static Block& mine();
  // The one that is running on this thread.
  static Block& current();
  static bool any();
  static void leave();

  void begin(Launch& launch, uint32_t index);
  // As a block's core with the matrix unit, of a kernel that asks.  Unless the kernel says that it runs on both kinds
  // of cores, nothing may be left for this one to do.
  void begin_as_cube(Launch& launch, uint32_t block);
  // What must not be left when a kernel returns.
  void end();
  // In global memory, from the begin of the block to its end.
  TouchedBy touched();

  // Instructions
  void instruction(const char* name, pipe_t pipe, Place at);
  void access(const Local& local, const void* at, size_t bytes, bool writes);
  void access(const Global& global, const void* at, size_t bytes, bool writes);
  size_t load(const Global& global, const void* at, size_t bytes);
  void forget_doubtful(const Local& to_memory, const void* to, const void* from, size_t bytes);
  // Records an access without checking that its bytes are known; `known` returns the flags of its bytes.
  size_t touch(const Local& local, const void* at, size_t bytes, bool writes);
  uint8_t* known(const Local& local, const void* at);
  std::string describe(const Local& local, const void* at) const;
  void sync_all(bool with_cubes, Place at);
  void set_flag_of_cores(bool of_all, uint32_t flag, Place at);
  void set_flag_of_group(uint32_t flag, Place at);
  void wait_for_cores(uint32_t flag, Place at);
  // The flags that one block sets for another.
  void set_flag_at(const int32_t* flag, Place at);
  void wait_flag_at(const int32_t* flag, Place at);

  // A store that stays in the scalar unit's cache, and what writes a line of it back: all lines for null.
  void cache(const Global& global, const void* at, size_t bytes);
  void clean_cache(const void* address);
  // What a buffer holds is unknown because of the instruction under way.
  void leave_undefined(const Local& local) {
    writings_[local.buffer] = {run_, {}};
    writings_[local.buffer].writing.site = site_;
    writings_[local.buffer].writing.is_undefined = true;
  }
  // The instruction under way goes by the mask register.
  void note_mask(uint32_t lanes, uint32_t per_repeat);
  // What the instruction under way reads is unknown in part, and so is what it writes for that reason.
  void suspect(const Local& read) { suspected_ = writings_[read.buffer]; }
  void blame(const Local& written) { writings_[written.buffer] = suspected_; }

  // Local memory
  static Space space_of(AscendC::TPosition position);
  uint16_t allocate(uint32_t count, uint32_t bytes, AscendC::TPosition position, Place at);
  // Makes the memory of a position one buffer from then on: no other allocator uses it.
  Local chosen(AscendC::TPosition position, uint32_t begin, uint32_t bytes, Place at);
  Local local(uint16_t buffer) const;
  // The buffer that an address lies in, the last one that was handed out there; none for another address.
  Local local_at(const void* address) const;
  Buffer& buffer(uint16_t number) { return buffers_[number]; }
  void forget_contents(const Buffer& buffer);
  void release_all();

  // Pipes
  Clock& clock(pipe_t pipe) { return clocks_[pipe]; }
  static void join(Clock& into, const Clock& from);
  void join_all();
  // The pipe has waited for all that stands in a clock.
  void learn(pipe_t pipe, const Clock& from);
  // The pipe has waited for itself.
  void drain(pipe_t pipe) { drained_[pipe] = clocks_[pipe][pipe]; }
  Flag& flag(pipe_t from, pipe_t to, int id) { return flags_[from][to][id]; }
  uint8_t& events(pipe_t from, pipe_t to) { return events_[from][to]; }

  // The block has ended in a division by zero, somewhere after its last instruction.
  void report_division();
  // The number that the instruction under way was given looks like that of a variable without a value.
  void suspect_unset();
  [[noreturn]] void fail_as_second_part(const std::string& where);
  // Whether this is the matrix unit's core of a kernel that does not say that it has one.
  bool is_unannounced_cube() const { return registers.is_cube && !launch->is_mixed(); }
  void report(Kind kind, const std::string& what, const std::string& where,
              std::vector<std::pair<std::string, std::string>> details = {});
  [[noreturn]] void fail(Kind kind, const std::string& what, const std::string& where,
                         std::vector<std::pair<std::string, std::string>> details = {});
  // Describes the current instruction.
  std::string where() const;

  Registers registers;
  Launch* launch = nullptr;
  uint32_t core = 0;  // of all of the launch

 private:
  // The accesses to 32 bytes.
  struct Touched {
    uint32_t write_time = 0;
    uint32_t read_time[kPipes] = {};
    uint16_t write_site = 0;
    uint16_t read_site[kPipes] = {};
    pipe_t write_pipe = PIPE_S;
  };

  Block();
  uint16_t number_of(const Site& site);
  // How many of the bytes are there; `slack` is how far a read may go beyond, and be given anything.
  size_t check_bounds(const Global& global, const void* at, size_t bytes, bool writes, size_t slack = 0);
  void check_initialised(const Local& local, size_t offset, size_t bytes);
  void order(const Local& local, size_t offset, size_t bytes, bool writes);
  // Whether the compiler has made this instruction wait for another one; the clocks know it then.
  bool is_ordered_by_compiler(pipe_t pipe, uint32_t time, uint16_t site);
  // What a pipe knew when it ran an instruction.
  Clock known_at(pipe_t pipe, uint32_t time) const;
  // Whether this instruction has not been blamed yet, for this and with this other one.
  bool is_news(Kind kind, uint16_t other);
  void order(const Recent::Access& now);
  void note_writing(const Local& local, const void* at, size_t bytes);
  template <class Describe>
  void missing_sync(bool writes, bool wrote, uint16_t before, Describe memory);

  struct Freed {
    void operator()(uint8_t* memory) const;
  };
  std::unique_ptr<uint8_t, Freed> memory_;
  std::vector<uint8_t> initialised_;
  std::vector<Touched> touched_;
  // How much of one space is taken.
  struct Used {
    uint32_t now = 0;   // bytes that buffers have
    uint32_t most = 0;  // since the last reset of what is known of them
  };
  Used used_[kSpaces];
  int whole_[kSpaces] = {-1, -1, -1, -1, -1, -1};  // the buffer that is all of a memory, for tensors with addresses
  std::vector<Buffer> buffers_;

  std::array<Clock, kPipes> clocks_{};
  Clock drained_{};  // what of its own each pipe knows to be finished
  // What a pipe has learned by waiting, and before which of its instructions.
  struct Lesson {
    uint32_t time = 0;
    Clock clock{};
  };
  static constexpr size_t kLessons = 64;
  struct Lessons {
    std::array<Lesson, kLessons> last;  // a ring
    size_t count = 0;
  };
  Lessons lessons_[kPipes];
  Flag flags_[kPipes][kPipes][kEvents];
  uint8_t events_[kPipes][kPipes] = {};
  std::vector<Site> sites_;
  uint16_t site_ = 0;
  Recent recent_[kPipes];
  Touches touches_;
  ScalarCache scalar_cache_;
  // The last run that wrote to a buffer, and by which instruction's run of all.
  struct Run {
    uint64_t number = 0;
    Writing writing;
  };
  std::vector<Run> writings_;  // of buffers
  Run suspected_;
  uint64_t run_ = 0;  // of the instruction under way
  bool is_masked_ = false;
  MaskInForce mask_;
  Order order_;
  Recording* recording_ = nullptr;  // null where nobody profiles
  std::set<std::tuple<Kind, uint16_t, uint16_t>> told_;
};

}  // namespace opbridge_ascend
#endif

// What the headers call, done by the block that the thread runs.
#include <opbridge_ascend/machine.h>

#include "block.h"
#include "memory.h"
#include "names.h"
#include "recording.h"
#include "rerun.h"

namespace opbridge_ascend {

Registers& registers() { return Block::current().registers; }
Registers* registers_if_any() { return Block::any() ? &Block::current().registers : nullptr; }

void Instruction::begin(const char* name, pipe_t pipe, Place at) { Block::current().instruction(name, pipe, at); }

void Instruction::access(const Local& local, const void* at, size_t bytes, bool writes) {
  Block::current().access(local, at, bytes, writes);
}

void Instruction::access(const Global& global, const void* at, size_t bytes, bool writes) {
  Block::current().access(global, at, bytes, writes);
}

size_t Instruction::load(const Global& global, const void* at, size_t bytes) {
  return Block::current().load(global, at, bytes);
}

void Instruction::check_alignment(const Local& local, const char* operand, size_t alignment) {
  if (reinterpret_cast<size_t>(local.data) % alignment == 0) return;
  Block& block = Block::current();
  block.fail(Kind::misaligned,
             std::string(operand) + " does not start at a multiple of " + std::to_string(alignment) + " bytes",
             block.where(), {{"memory", "it is " + block.describe(block.local(local.buffer), local.data)}});
}

void Instruction::take_unset() {
  Block& block = Block::current();
  // A kernel that has read such a number of memory may have meant that one.
  if (!block.registers.unset_is_data) block.suspect_unset();
}

void Instruction::check_position(const Local& local, const char* operand, AscendC::TPosition expected) {
  const AscendC::TPosition position = position_of(local);
  if (position == expected || local.data == nullptr) return;
  Block& block = Block::current();
  block.fail(Kind::bad_parameter, std::string(operand) + " is a tensor of " + name_of(position), block.where(),
             {{"expected", "a tensor of " + name_of(expected)}});
}

void Instruction::forget_doubtful(const Local& to_memory, const void* to, const void* from, size_t bytes) {
  Block::current().forget_doubtful(to_memory, to, from, bytes);
}

void Instruction::cache(const Global& global, const void* at, size_t bytes) {
  Block::current().cache(global, at, bytes);
}

void Instruction::leave_undefined(const Local& local) { Block::current().leave_undefined(local); }
void Instruction::note_mask(uint32_t lanes, uint32_t per_repeat) { Block::current().note_mask(lanes, per_repeat); }
void Instruction::suspect(const Local& read) { Block::current().suspect(read); }
void Instruction::blame(const Local& written) { Block::current().blame(written); }

uint8_t* Instruction::known(const Local& local, const void* at) { return Block::current().known(local, at); }

void Instruction::touch(const Local& local, const void* at, size_t bytes, bool writes) {
  Block::current().touch(local, at, bytes, writes);
}

void Instruction::bad_parameter(const char* parameter, long long value, const char* expected) {
  Block& block = Block::current();
  block.fail(Kind::bad_parameter, std::string(parameter) + " is " + std::to_string(value), block.where(),
             {{"expected", expected}});
}

void Block::fail_as_second_part(const std::string& where) {
  fail(Kind::bad_parameter, "the kernel has a part of its own for cores with a matrix unit", where,
       {{"expected",
         "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2) or _1_1, which says how many vector cores go with one"}});
}

void Block::suspect_unset() {
  if (!is_news(Kind::unset_variable, 0)) return;
  launch->suspect({Kind::unset_variable,
                   "a number is made of a C++ variable that nothing was assigned to",
                   where(),
                   registers.index,
                   {}});
}

void Block::access(const Global& global, const void* at, size_t bytes, bool writes) {
  if (bytes == 0) return;
  if (is_unannounced_cube() && writes) fail_as_second_part(where());
  check_bounds(global, at, bytes, writes);
  const Use use = !writes ? Use::read : registers.atomic == Atomic::none ? Use::write : Use::atomic;
  const auto* const first = static_cast<const uint8_t*>(at);
  if (recording_ != nullptr) {
    const Allocation memory = allocation_of(first);
    recording_->touches_global(memory.bytes > 0 ? static_cast<size_t>(first - memory.begin) : 0, bytes, writes);
  }
  order({first, first + bytes, clocks_[sites_[site_].pipe][sites_[site_].pipe], site_, writes});
  if (launch->has_others()) touches_.add(first, bytes, order_, site_, use);
  if (Writes* const log = launch->log()) log->add(first, bytes, use, sites_[site_], registers.index);
}

void Block::cache(const Global& global, const void* at, size_t bytes) {
  if (!launch->has_others()) return;
  const auto* const first = static_cast<const uint8_t*>(at);
  const Allocation memory = allocation_of(global.data != nullptr ? global.data : first);
  if (memory.bytes > 0) scalar_cache_.write(memory.begin, first, bytes, site_);
}

void Block::clean_cache(const void* address) {
  if (address == nullptr) return scalar_cache_.clean();
  const auto* const byte = static_cast<const uint8_t*>(address);
  if (const Allocation memory = allocation_of(byte); memory.bytes > 0) scalar_cache_.clean(memory.begin, byte);
}

void clean_cache(const void* address) {
  if (registers().checked) Block::current().clean_cache(address);
}

// A load may read past a tensor to the end of a block.  That is device memory, too: allocations are longer than
// requested by at least as much.
size_t Block::load(const Global& global, const void* at, size_t bytes) {
  if (bytes == 0) return 0;
  const size_t there = check_bounds(global, at, bytes, false, kBlockBytes - 1);
  access(global, at, there, false);
  sites_[site_].loads_blocks = true;
  return there;
}

void Block::forget_doubtful(const Local& to_memory, const void* to, const void* from, size_t bytes) {
  if (launch->doubtful() == nullptr) return;
  const auto mine = launch->doubtful()->find(core);
  if (mine == launch->doubtful()->end()) return;
  const auto* const first = static_cast<const uint8_t*>(from);
  mine->second.present(first, first + bytes, [&](const uint8_t* begin, const uint8_t* end) {
    memset(known(to_memory, static_cast<const uint8_t*>(to) + (begin - first)), 0, static_cast<size_t>(end - begin));
  });
}

size_t Block::check_bounds(const Global& global, const void* at, size_t bytes, bool writes, size_t slack) {
  const std::string what = std::string(writes ? "write" : "read") + " of " + std::to_string(bytes) + " bytes";
  if (at == nullptr || (global.data == nullptr && global.bytes > 0)) {
    fail(Kind::no_memory, what + " through a global tensor that was never given memory", where());
  }
  const auto* const first = static_cast<const uint8_t*>(at);
  const auto outside = [&](const uint8_t* begin, uint64_t size) {
    return first < begin || static_cast<uint64_t>(first - begin) + bytes > size;
  };
  const auto explain = [&](const uint8_t* begin, uint64_t size, const std::string& of) {
    const std::string offset = std::to_string(first - begin);
    fail(Kind::out_of_bounds, what + " out of a global tensor's bounds", where(),
         {{"address", text_of(at) + ", byte " + offset + " of the " + std::to_string(size) + " bytes of " + of}});
  };
  const auto there = [&](const uint8_t* begin, uint64_t size, const std::string& of) {
    if (!outside(begin, size)) return bytes;
    const bool is_tail =
        first >= begin && first < begin + size && static_cast<uint64_t>(first - begin) + bytes <= size + slack;
    if (!is_tail) explain(begin, size, of);
    return static_cast<size_t>(begin + size - first);
  };
  // A tensor's start says which memory is meant; an address beyond its end may lie in another one.
  const Allocation memory = allocation_of(global.data != nullptr ? global.data : first);
  if (memory.bytes > 0) return there(memory.begin, memory.bytes, memory.name);
  if (launch->is_enclosed()) {
    fail(Kind::out_of_bounds, what + " outside of all memory that the kernel was given", where(),
         {{"address", described_outside(first)}});
  }
  // Only the size passed to SetGlobalBuffer is known.
  return global.bytes > 0 ? there(global.data, global.bytes, "the tensor, as passed to SetGlobalBuffer") : bytes;
}

uint16_t allocate_local(uint32_t count, uint32_t bytes, AscendC::TPosition position, Place at) {
  return Block::current().allocate(count, bytes, position, at);
}

Local static_memory(AscendC::TPosition position, uint32_t begin, uint32_t bytes, Place at) {
  return Block::current().chosen(position, begin, bytes, at);
}

void assert_that(bool holds, const char* what, Place at) {
  if (!holds) Block::current().fail(Kind::assertion, std::string("ASSERT(") + what + ") does not hold", text_of(at));
}

bool is_cube_core() {
  Block& block = Block::current();
  const Cores kind = block.launch->kind();
  if (kind == Cores::vector || kind == Cores::cube) return kind == Cores::cube;
  if (!block.registers.is_cube && !block.registers.asked_for_kind) block.launch->start_cube_of(block.core);
  block.registers.asked_for_kind = true;
  return block.registers.is_cube;
}

void serve_matmul() {
  if (!registers().is_cube) return;
  Block::current().launch->cube_serves();
  throw BlockEnded{};
}

AscendC::TPosition position_of(const Local& local) {
  return local.data == nullptr ? AscendC::TPosition::MAX : Block::current().buffer(local.buffer).position;
}

Local local_memory(uint16_t buffer) { return Block::current().local(buffer); }
Local local_memory_at(const void* address) { return Block::current().local_at(address); }
void release_local() { Block::current().release_all(); }

namespace {

Flag& flag_at(pipe_t from, pipe_t to, int id, const char* call, Place at) {
  Block& block = Block::current();
  if (id < 0 || id >= kEvents) {
    block.fail(Kind::no_event, "the event's id is " + std::to_string(id),
               text_of(at) + ", " + call + " of " + event_name(from, to));
  }
  return block.flag(from, to, id);
}

}  // namespace

void set_flag(pipe_t from, pipe_t to, int id, Place at) {
  Flag& flag = flag_at(from, to, id, "SetFlag", at);
  Block& block = Block::current();
  if (flag.is_set && block.registers.checked) {
    block.fail(Kind::unpaired_flag, "set twice with no WaitFlag between",
               text_of(at) + ", SetFlag of " + event_name(from, to, id), {{"before", text_of(flag.place)}});
  }
  flag = {true, block.clock(from), at};
}

void wait_flag(pipe_t from, pipe_t to, int id, Place at) {
  Flag& flag = flag_at(from, to, id, "WaitFlag", at);
  Block& block = Block::current();
  if (!flag.is_set && block.registers.checked) {
    block.fail(Kind::unpaired_flag, "waits for a flag that is never set; hardware would wait forever",
               text_of(at) + ", WaitFlag of " + event_name(from, to, id));
  }
  block.learn(to, flag.clock);
  flag.is_set = false;
}

int fetch_event(pipe_t from, pipe_t to) {
  Block& block = Block::current();
  int id = 0;
  while (id < kEvents - 1 && (block.flag(from, to, id).is_set || (block.events(from, to) >> id & 1) != 0)) ++id;
  return id;
}

int alloc_event(pipe_t from, pipe_t to, Place at) {
  Block& block = Block::current();
  uint8_t& given = block.events(from, to);
  for (int id = 0; id < kEvents; ++id) {
    if ((given >> id & 1) != 0) continue;
    given = static_cast<uint8_t>(given | 1u << id);
    return id;
  }
  block.fail(Kind::no_event, "all 8 ids are given away", text_of(at) + ", AllocEventID of " + event_name(from, to));
}

void release_event(pipe_t from, pipe_t to, int id) {
  uint8_t& given = Block::current().events(from, to);
  given = static_cast<uint8_t>(given & ~(1u << id));
}

void barrier(pipe_t pipe) {
  if (pipe == PIPE_ALL) return Block::current().join_all();
  Block::current().drain(pipe);
}

void Block::sync_all(bool with_cubes, Place at) {
  // A kernel that has not asked for its kind of core is the same for both, and the vector cores alone run it.
  const bool of_both = with_cubes && launch->is_mixed() && registers.asked_for_kind;
  if (registers.is_cube && !of_both) return;
  join_all();
  if (of_both) {
    launch->sync_both(core, at);
    ++order_.joint;
  } else {
    launch->sync_all(core, at);
    ++order_.sets;
    ++order_.waits;
  }
}

void sync_all(bool with_cubes, Place at) { Block::current().sync_all(with_cubes, at); }

void Block::wait_for_cores(uint32_t flag, Place at) {
  if (is_unannounced_cube()) fail_as_second_part(text_of(at) + ", CrossCoreWaitFlag");
  if (const Heard* const heard = launch->wait_flag_of_cores(core, flag, order_, at)) {
    order_.heard = heard;
  } else {
    ++order_.waits;
  }
}

void Block::set_flag_of_cores(bool of_all, uint32_t flag, Place at) {
  if (is_unannounced_cube()) fail_as_second_part(text_of(at) + ", CrossCoreSetFlag");
  if (registers.is_cube) {
    fail(Kind::bad_parameter, "the twin has no flags between matrix units", text_of(at) + ", CrossCoreSetFlag",
         {{"expected", "mode 2, between a matrix unit and its vector units, or SyncAll<false>"}});
  }
  launch->set_flag_of_cores(core, of_all ? 0 : registers.per_block, flag, at);
  ++order_.sets;
}

void Block::set_flag_of_group(uint32_t flag, Place at) {
  if (!launch->is_mixed()) fail_as_second_part(text_of(at) + ", CrossCoreSetFlag");
  launch->set_flag_of_group(core, flag, order_, at);
  ++order_.epoch;
}

void set_cross_core_flag(int mode, uint32_t id, Place at) {
  if (mode == 2) return Block::current().set_flag_of_group(id, at);
  Block::current().set_flag_of_cores(mode == 0, id, at);
}

void wait_cross_core_flag(uint32_t id, Place at) { Block::current().wait_for_cores(id, at); }

void Block::set_flag_at(const int32_t* flag, Place at) {
  if (registers.is_cube) fail_as_second_part(text_of(at) + ", IBSet");
  join_all();
  launch->set_flag_at(flag, core, order_, at);
  ++order_.epoch;
}

void Block::wait_flag_at(const int32_t* flag, Place at) {
  if (registers.is_cube) fail_as_second_part(text_of(at) + ", IBWait");
  join_all();
  order_.heard = launch->wait_flag_at(flag, core, order_, at);
}

void set_flag_at(const int32_t* flag, Place at) { Block::current().set_flag_at(flag, at); }

void wait_flag_at(const int32_t* flag, Place at) { Block::current().wait_flag_at(flag, at); }

namespace {

std::mutex& atomics() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

void lock_atomics() { atomics().lock(); }
void unlock_atomics() { atomics().unlock(); }

}  // namespace opbridge_ascend

// Runs the PTX of asm statements, a thread at a time; what only its own code can do, it is asked for.
#include "ptx.h"

#include <opbridge/half.h>
#include <string.h>
#include <time.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "checks/checks.h"
#include "engine/worker.h"

namespace opbridge_twin::ptx {

namespace {

// Programs are never forgotten: an asm statement is in code that stays.
const Program& program_of(const char* text, unsigned operands) {
  constexpr size_t kRecent = 256;
  static std::atomic<const Program*> recent[kRecent];
  std::atomic<const Program*>& here = recent[(reinterpret_cast<uintptr_t>(text) >> 3) % kRecent];
  const Program* const last = here.load(std::memory_order_acquire);
  if (last != nullptr && last->operands == operands && strcmp(last->text.c_str(), text) == 0) return *last;
  static std::mutex mutex;
  static std::map<std::pair<std::string, unsigned>, std::unique_ptr<const Program>> all;
  const std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<const Program>& kept = all[{text, operands}];
  if (kept == nullptr) kept = std::make_unique<const Program>(read(text, operands));
  here.store(kept.get(), std::memory_order_release);
  return *kept;
}

void check(Machine& machine) {
  if (!machine.program.error.empty()) machine.refuse(machine.program.error);
}

uint64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

bool is_shared(const std::string& space) {
  return space == "shared" || space == "shared::cta" || space == "shared::cluster";
}

unsigned part_of(const ob_twin_dim& all, char axis) { return axis == 'x' ? all.x : axis == 'y' ? all.y : all.z; }

}  // namespace

uint64_t cut(uint64_t bits, unsigned width) { return width >= 64 ? bits : bits & ((uint64_t{1} << width) - 1); }

float half_to_float(uint16_t bits) { return ob::detail::half_to_float(bits); }
uint16_t float_to_half(float value) { return value != value ? 0x7fff : ob::detail::float_to_half(value); }
float bfloat_to_float(uint16_t bits) { return ob::detail::bfloat16_to_float(bits); }
uint16_t float_to_bfloat(float value) { return value != value ? 0x7fff : ob::detail::float_to_bfloat16(value); }

double as_number(uint64_t bits, Type type) {
  if (type.kind == 'h') return bfloat_to_float(static_cast<uint16_t>(bits));
  if (type.bits == 16) return half_to_float(static_cast<uint16_t>(bits));
  if (type.bits == 64) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
  }
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

uint64_t from_number(double value, Type type) {
  if (type.kind == 'h') return float_to_bfloat(static_cast<float>(value));
  if (type.bits == 16) return float_to_half(static_cast<float>(value));
  uint64_t bits = 0;
  if (type.bits == 64) {
    memcpy(&bits, &value, sizeof value);
  } else {
    const float single = static_cast<float>(value);
    memcpy(&bits, &single, sizeof single);
  }
  return bits;
}

int64_t as_signed(uint64_t bits, Type type) {
  const unsigned above = 64 - (type.bits > 64 ? 64 : type.bits);
  return static_cast<int64_t>(bits << above) >> above;
}

uint64_t Machine::get(const Operand& operand) {
  switch (operand.kind) {
    case Operand::Kind::slot: {
      const uint64_t bits = registers[operand.slot];
      return operand.negated ? bits == 0 : bits;
    }
    case Operand::Kind::immediate:
      return operand.bits;
    case Operand::Kind::special:
      return special(operand.name);
    case Operand::Kind::vector: {
      uint64_t bits = 0;
      const unsigned width = operand.parts.size() == 4 ? 16 : 0;
      for (size_t i = 0; i < operand.parts.size(); ++i) bits |= get(operand.parts[i]) << (width * i);
      return bits;
    }
    default:
      return 0;
  }
}

void Machine::set(const Operand& operand, uint64_t bits) {
  if (operand.kind != Operand::Kind::slot) return;
  registers[operand.slot] = bits;
  if (operand.slot >= count) return;
  const ob_twin_ptx_operand& out = given[operand.slot];
  if (out.place == nullptr) return;
  memcpy(out.place, &bits, out.bytes < 8 ? out.bytes : 8);
  checks::written_unseen(out.place, out.bytes);
}

void Machine::set_predicate(const Operand& operand, bool value) {
  if (!operand.predicate.empty()) set(operand.predicate[0], value);
}

uint64_t Machine::special(const std::string& name) {
  if (name == "clock64" || name == "clock" || name == "clock_hi" || name == "globaltimer" || name == "globaltimer_lo") {
    const uint64_t now = nanoseconds();
    return name == "clock_hi" ? now >> 32 : name == "clock" || name == "globaltimer_lo" ? cut(now, 32) : now;
  }
  ob_twin_ptx_request who{};
  service(OB_TWIN_PTX_WHO, &who);
  const unsigned thread = who.thread.x + who.threads.x * (who.thread.y + who.threads.y * who.thread.z);
  const unsigned lane = thread % 32;
  const std::string base = name.substr(0, name.find('.'));
  const char axis = name.back();
  if (base == "tid") return part_of(who.thread, axis);
  if (base == "ntid") return part_of(who.threads, axis);
  if (base == "ctaid") return part_of(who.block, axis);
  if (base == "nctaid") return part_of(who.blocks, axis);
  // A block that is in no cluster is one by itself.
  if (base == "cluster_ctaid" || name == "cluster_ctarank" || name == "is_explicit_cluster") return 0;
  if (base == "cluster_nctaid" || name == "cluster_nctarank") return 1;
  if (base == "clusterid") return part_of(who.block, axis);
  if (base == "nclusterid") return part_of(who.blocks, axis);
  if (name == "laneid") return lane;
  if (name == "warpid") return thread / 32;
  if (name == "nwarpid") return (who.threads.x * who.threads.y * who.threads.z + 31) / 32;
  if (name == "smid") return (who.block.x + who.blocks.x * (who.block.y + who.blocks.y * who.block.z)) % 8;
  if (name == "nsmid") return 8;
  if (name == "gridid") return 1;
  if (name == "lanemask_eq") return 1u << lane;
  if (name == "lanemask_lt") return (1u << lane) - 1;
  if (name == "lanemask_le") return (2u << lane) - 1;
  if (name == "lanemask_gt") return cut(~((uint64_t{2} << lane) - 1), 32);
  if (name == "lanemask_ge") return cut(~((uint64_t{1} << lane) - 1), 32);
  if (name == "dynamic_smem_size") return Worker::running()->block().shared.dynamic_bytes();
  refuse("the twin has no register %" + name);
}

char* Machine::memory(const Instruction& instruction, const Operand& address) {
  for (const std::string& word : instruction.words) {
    if (is_shared(word)) return memory_in(word, address);
  }
  return memory_in("global", address);
}

// Addresses in shared memory may count from the block's first byte, or be those of any memory.
char* Machine::memory_in(const std::string& space, const Operand& address) {
  uint64_t place = address.kind == Operand::Kind::address ? get(address.parts[0]) + address.bits : get(address);
  if (is_shared(space) && place < SharedMemory::kArenaBytes)
    place += reinterpret_cast<uint64_t>(ob_twin_shared_window());
  return reinterpret_cast<char*>(place);
}

void Machine::meet(uint32_t mask, const char* what, void* part, ob_twin_resolve resolve) {
  ob_twin_ptx_request request{};
  request.mask = mask;
  request.what = what;
  request.to = part;
  request.resolve = resolve;
  service(OB_TWIN_PTX_MEET, &request);
}

void Machine::move(void* to, const void* from, unsigned bytes, int what) {
  ob_twin_ptx_request request{};
  request.to = to;
  request.from = from;
  request.bytes = bytes;
  service(static_cast<ob_twin_ptx_wish>(what), &request);
}

void Machine::refuse(const std::string& why) {
  const std::string text = "inline PTX: " + why;
  ob_twin_ptx_request request{};
  request.what = text.c_str();
  service(OB_TWIN_PTX_TRAP, &request);
  __builtin_unreachable();
}

}  // namespace opbridge_twin::ptx

void ob_twin_ptx(const char* text, ob_twin_ptx_operand* operands, unsigned count, ob_twin_ptx_service service) {
  using namespace opbridge_twin::ptx;
  const Program& program = program_of(text, count);
  const void* const here = __builtin_return_address(0);
  opbridge_twin::checks::runs_asm(here);
  Machine machine{program, operands, count, service, std::vector<uint64_t>(program.slots)};
  check(machine);
  for (unsigned i = 0; i < count; ++i) machine.registers[i] = operands[i].bits;
  while (machine.next < program.instructions.size()) {
    const Instruction& instruction = program.instructions[machine.next++];
    const bool runs = instruction.predicate == Instruction::kAlways ||
                      (machine.registers[instruction.predicate] != 0) != instruction.unless;
    if (!runs) continue;
    opbridge_twin::checks::runs_asm(here);  // again where another thread has run meanwhile
    instruction.execute(machine, instruction);
  }
  opbridge_twin::checks::runs_asm(nullptr);
}

const char* ob_twin_shared_window() {
  using opbridge_twin::Worker;
  return Worker::running() == nullptr ? nullptr : Worker::running()->block().shared.arena();
}

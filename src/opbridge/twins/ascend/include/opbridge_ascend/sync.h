// Flags and barriers, atomic stores, and what a block knows of itself.
#ifndef OPBRIDGE_ASCEND_SYNC_H
#define OPBRIDGE_ASCEND_SYNC_H

#include "pipe.h"

inline int64_t get_block_idx() { return opbridge_ascend::registers().index; }
inline int64_t get_block_num() {
  auto& registers = opbridge_ascend::registers();
  registers.asked_for_count = true;
  return registers.count;
}

inline void set_flag(pipe_t from, pipe_t to, int id, opbridge_ascend::Place at = opbridge_ascend::Place::here()) {
  opbridge_ascend::set_flag(from, to, id, at);
}
inline void wait_flag(pipe_t from, pipe_t to, int id, opbridge_ascend::Place at = opbridge_ascend::Place::here()) {
  opbridge_ascend::wait_flag(from, to, id, at);
}
inline void pipe_barrier(pipe_t pipe) { opbridge_ascend::barrier(pipe); }

// The first compilers knew these as variables.
inline constexpr struct {
  operator int64_t() const { return get_block_idx(); }
} block_idx;
inline constexpr struct {
  operator int64_t() const { return get_block_num(); }
} block_num;
// Returns the number of cores of the same kind in a block.
inline int64_t get_subblockdim() {
  using opbridge_ascend::kBlockBytes;
  const auto& registers = opbridge_ascend::registers();
  return registers.is_cube ? 1 : registers.per_block;
}
inline int64_t get_subblockid() { return get_block_idx() % get_subblockdim(); }

#define ASCEND_IS_AIC (::opbridge_ascend::is_cube_core())
#define ASCEND_IS_AIV (!ASCEND_IS_AIC)

namespace AscendC {

// The kinds of cores by name, and the variable that says which one this is.
constexpr int AIC = 1, AIV = 2;
inline constexpr struct {
  operator int() const { return ASCEND_IS_AIC ? AIC : AIV; }
} core_type;
#define g_coreType (::AscendC::core_type)

inline int64_t GetBlockIdx() { return get_block_idx(); }
inline int64_t GetBlockNum() { return get_block_num(); }
inline int64_t GetSubBlockIdx() { return get_subblockid(); }
inline int64_t GetSubBlockNum() { return get_subblockdim(); }
inline int64_t GetTaskRation() { return get_subblockdim(); }
inline int64_t GetTaskRatio() { return get_subblockdim(); }
constexpr uint32_t GetDataBlockSizeInBytes() { return 32; }

template <HardEvent event>
void SetFlag(int32_t id, Place at = Place::here()) {
  constexpr auto pipes = detail::pipes_of(event);
  opbridge_ascend::set_flag(pipes.from, pipes.to, id, at);
}
template <HardEvent event>
void WaitFlag(int32_t id, Place at = Place::here()) {
  constexpr auto pipes = detail::pipes_of(event);
  opbridge_ascend::wait_flag(pipes.from, pipes.to, id, at);
}

// The flags of one pair of pipes, as an object.
template <pipe_t from, pipe_t to>
class TQueSync {
 public:
  void SetFlag(TEventID id, Place at = Place::here()) { opbridge_ascend::set_flag(from, to, id, at); }
  void WaitFlag(TEventID id, Place at = Place::here()) { opbridge_ascend::wait_flag(from, to, id, at); }
};

template <pipe_t pipe>
void PipeBarrier() {
  static_assert(pipe != PIPE_S, "PipeBarrier<PIPE_S>() is a hardware error: the scalar pipe waits for itself anyway");
  opbridge_ascend::barrier(pipe);
}

template <bool only_vector_cores = true>
void SyncAll(Place at = Place::here()) {
  opbridge_ascend::sync_all(!only_vector_cores, at);
}
template <bool only_vector_cores = true>
void SyncAll(const GlobalTensor<int32_t>&, const LocalTensor<int32_t>&, int32_t used = 0, Place at = Place::here()) {
  Instruction("SyncAll", PIPE_S, at)
      .requires_that(used == 0 || used == static_cast<int32_t>(opbridge_ascend::registers().count), "usedCores", used,
                     "the number of blocks of the launch");
  opbridge_ascend::sync_all(!only_vector_cores, at);
}

namespace detail {

inline void check_cross_core(const char* call, pipe_t pipe, uint16_t flag, Place at) {
  const bool has_pipe = pipe != PIPE_V || !opbridge_ascend::registers().is_cube;
  Instruction(call, has_pipe ? pipe : PIPE_S, at)
      .requires_that(flag < opbridge_ascend::kCrossCoreFlags, "flagId", flag, "0 to 10: a higher one is the system's");
}

}  // namespace detail

// Mode 0 synchronises all blocks, mode 1 the vector units of one core, and mode 2 a matrix unit with all of its vector
// units, in either direction.
template <uint8_t modeId, pipe_t pipe>
void CrossCoreSetFlag(uint16_t flagId, Place at = Place::here()) {
  static_assert(modeId < 3, "opbridge's Ascend twin has CrossCoreSetFlag in the modes 0, 1 and 2 only");
  static_assert(pipe != PIPE_S && pipe != PIPE_ALL, "the pipe of CrossCoreSetFlag is one that runs instructions");
  detail::check_cross_core("CrossCoreSetFlag", pipe, flagId, at);
  opbridge_ascend::set_cross_core_flag(modeId, flagId, at);
}
template <uint8_t modeId = 0, pipe_t pipe = PIPE_V>
void CrossCoreWaitFlag(uint16_t flagId, Place at = Place::here()) {
  detail::check_cross_core("CrossCoreWaitFlag", pipe, flagId, at);
  opbridge_ascend::wait_cross_core_flag(flagId, at);
}

namespace detail {

// Returns the place of the flag of a block and an event: 32 bytes each, events consecutive.  The kernel reads what the
// host or a block has written; the twin itself stores what is set.
template <bool only_vector_cores>
const int32_t* flag_between_blocks(Instruction& instruction, const GlobalTensor<int32_t>& flags,
                                   const LocalTensor<int32_t>& temporary, int32_t block, int32_t event) {
  using opbridge_ascend::kBlockBytes;
  const auto& registers = opbridge_ascend::registers();
  const auto cores = static_cast<int32_t>(registers.count * registers.per_block);
  instruction.requires_that(block >= 0 && block < cores, "blockIdx", block, "0 to the number of cores - 1");
  instruction.requires_that(event >= 0, "eventID", event, "0 or more");
  const uint32_t bytes = temporary.GetLength();
  instruction.requires_that(bytes >= kBlockBytes, "bytes of ubWorkspace", bytes, "32 or more");
  const int64_t per_event = int64_t{registers.count} * (only_vector_cores ? 1 : 2);
  const int32_t* const flag = flags.data() + (per_event * event + block) * (kBlockBytes / sizeof(int32_t));
  instruction.reads(flags.memory(), flag, kBlockBytes);
  instruction.requires_that(*flag == 0, "the flag in gmWorkspace", *flag, "0: fill gmWorkspace before the launch");
  return flag;
}

}  // namespace detail

// One block tells another that it has come here: block and event name the flag, the same in both calls.
template <bool only_vector_cores = true>
void IBSet(const GlobalTensor<int32_t>& gmWorkspace, const LocalTensor<int32_t>& ubWorkspace, int32_t blockIdx,
           int32_t eventID, Place at = Place::here()) {
  Instruction instruction("IBSet", PIPE_S, at);
  opbridge_ascend::set_flag_at(
      detail::flag_between_blocks<only_vector_cores>(instruction, gmWorkspace, ubWorkspace, blockIdx, eventID), at);
}
template <bool only_vector_cores = true>
void IBWait(const GlobalTensor<int32_t>& gmWorkspace, const LocalTensor<int32_t>& ubWorkspace, int32_t blockIdx,
            int32_t eventID, Place at = Place::here()) {
  Instruction instruction("IBWait", PIPE_S, at);
  opbridge_ascend::wait_flag_at(
      detail::flag_between_blocks<only_vector_cores>(instruction, gmWorkspace, ubWorkspace, blockIdx, eventID), at);
}

// Fills global memory, by the pipe that stores; who reads it waits for that, and other blocks for SyncAll.
template <class T>
void InitGlobalMemory(GlobalTensor<T>& gmWorkspaceAddr, const uint64_t size, const T value, Place at = Place::here()) {
  Instruction instruction("InitGlobalMemory", PIPE_MTE3, at);
  instruction.writes(gmWorkspaceAddr.memory(), gmWorkspaceAddr.data(), size * sizeof(T));
  for (uint64_t i = 0; i < size; ++i) gmWorkspaceAddr.data()[i] = value;
}

// Its name of before.
template <class T>
void InitOutput(const GlobalTensor<T>& gmWorkspaceAddr, uint64_t size, T value = 0, Place at = Place::here()) {
  GlobalTensor<T> memory = gmWorkspaceAddr;
  InitGlobalMemory(memory, size, value, at);
}

// Stores by DataCopy change what is there instead of replacing it, until SetAtomicNone.
template <class T>
void SetAtomicAdd() {
  opbridge_ascend::registers().atomic = opbridge_ascend::Atomic::add;
}
template <class T>
void SetAtomicMax() {
  opbridge_ascend::registers().atomic = opbridge_ascend::Atomic::max;
}
template <class T>
void SetAtomicMin() {
  opbridge_ascend::registers().atomic = opbridge_ascend::Atomic::min;
}
// The type is that of the tensor that is stored.
template <class T>
void SetAtomicType() {}
inline void SetAtomicNone() { opbridge_ascend::registers().atomic = opbridge_ascend::Atomic::none; }

// Stores of the scalar unit stay in its cache until it writes a line back.  The twin keeps note of such lines alone.
enum class CacheLine : uint64_t { SINGLE_CACHE_LINE, ENTIRE_DATA_CACHE };
// Which copy of the data is meant; there is one here.
enum class DcciDst : uint64_t { CACHELINE_ALL, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };
template <class T, CacheLine line, DcciDst dst = DcciDst::CACHELINE_ALL>
void DataCacheCleanAndInvalid(const GlobalTensor<T>& tensor) {
  opbridge_ascend::clean_cache(line == CacheLine::SINGLE_CACHE_LINE ? tensor.data() : nullptr);
}
template <class T, CacheLine line>
void DataCacheCleanAndInvalid(const LocalTensor<T>&) {}

// Puts registers into the state that a kernel without TPipe counts on, which here they are in.
inline void InitSocState() {}

}  // namespace AscendC

// The compiler's names for the same.
enum cache_line_t { SINGLE_CACHE_LINE, ENTIRE_DATA_CACHE };
enum dcci_dst_t { CACHELINE_ALL, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };
enum mem_dsb_t { DSB_ALL, DSB_DDR, DSB_UB, DSB_SEQ };
inline void dcci(const volatile void* address, uint64_t line, uint64_t = CACHELINE_ALL) {
  opbridge_ascend::clean_cache(line == SINGLE_CACHE_LINE ? const_cast<const void*>(address) : nullptr);
}
inline void dsb(mem_dsb_t) {}

inline void set_atomic_add() { opbridge_ascend::registers().atomic = opbridge_ascend::Atomic::add; }
inline void set_atomic_max() { opbridge_ascend::registers().atomic = opbridge_ascend::Atomic::max; }
inline void set_atomic_min() { opbridge_ascend::registers().atomic = opbridge_ascend::Atomic::min; }
inline void set_atomic_none() { AscendC::SetAtomicNone(); }
#endif

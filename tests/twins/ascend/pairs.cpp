// Pairs of kernels that differ in one mistake: the first of each is told of, the second is left in peace.
#include <algorithm>
#include <string>
#include <type_traits>

#include "tikicpulib.h"

using namespace AscendC;

template <HardEvent event>
__aicore__ inline void pass(event_t id = EVENT_ID0) {
  SetFlag<event>(id);
  WaitFlag<event>(id);
}

// What all of them start from: two tensors of floats in global memory, and one in the unified buffer.
struct Kernel {
  __aicore__ inline Kernel(GM_ADDR x, GM_ADDR y, uint32_t count, uint32_t local = 512) {
    from.SetGlobalBuffer((__gm__ float*)x, count);
    to.SetGlobalBuffer((__gm__ float*)y, count);
    pipe.InitBuffer(buffer, local);
    tensor = buffer.Get<float>();
  }

  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  GlobalTensor<float> from, to;
  LocalTensor<float> tensor;
};

const DataCopyPadExtParams<float> kNoPadding{false, 0, 0, 0};

// A flag, but between two other pipes.
template <bool wrong>
void flag_of_others(GM_ADDR x, GM_ADDR y) {
  Kernel k(x, y, 128);
  DataCopy(k.tensor, k.from, 128);
  pass<wrong ? HardEvent::MTE2_V : HardEvent::MTE2_MTE3>();
  DataCopy(k.to, k.tensor, 128);
}

// 13 elements for each block, of which the last ones are stored by two.
template <bool wrong>
void one_element_more(GM_ADDR x, GM_ADDR y) {
  Kernel k(x, y, 128);
  const int begin = GetBlockIdx() * 13;
  DataCopyPad(k.tensor, k.from[begin], {1, 13 * sizeof(float), 0, 0, 0}, kNoPadding);
  pass<HardEvent::MTE2_MTE3>();
  DataCopyPad(k.to[begin], k.tensor, DataCopyExtParams{1, (wrong ? 14 : 13) * sizeof(float), 0, 0, 0});
}

template <bool wrong>
void padded_between_blocks(GM_ADDR x, GM_ADDR y) {
  Kernel k(x, y, 128);
  const LocalTensor<float> part = k.tensor[wrong ? 4 : 8];
  DataCopyPad(part, k.from, {1, 13 * sizeof(float), 0, 0, 0}, kNoPadding);
}

// 43,688 is no number of 16 bits with a sign.
template <bool wrong>
void short_offset(GM_ADDR x, GM_ADDR y) {
  Kernel k(x, y, 65536);
  const std::conditional_t<wrong, int16_t, int32_t> begin = GetBlockIdx() * 21840;
  DataCopy(k.tensor, k.from[begin], 16);
  pass<HardEvent::MTE2_MTE3>();
  DataCopy(k.to[begin], k.tensor, 16);
}

// A product that wraps: all blocks begin at zero.
template <bool wrong>
void wrapped_offset(GM_ADDR x, GM_ADDR y) {
  Kernel k(x, y, 128);
  const uint32_t begin = uint32_t(GetBlockIdx()) * (wrong ? 1u << 31 : 1u) * 16;
  DataCopy(k.tensor, k.from[begin], 16);
  pass<HardEvent::MTE2_MTE3>();
  DataCopy(k.to[begin], k.tensor, 16);
}

template <bool wrong>
void sum_of_all_blocks(GM_ADDR x, GM_ADDR y) {
  Kernel k(x, y, 16);
  Duplicate(k.tensor, 1.0f, 16);
  pass<HardEvent::V_MTE3>();
  if (!wrong) SetAtomicAdd<float>();
  DataCopy(k.to, k.tensor, 16);
  SetAtomicNone();
}

// The mask of a half.
template <bool wrong>
void mask_of_another_type(GM_ADDR x, GM_ADDR y) {
  Kernel k(x, y, 16);
  Duplicate(k.tensor, 1.0f, 128);
  Adds(k.tensor, k.tensor, 1.0f, wrong ? 128 : 64, 2, {1, 1, 8, 8});
}

template <bool wrong>
void one_repeat_more(GM_ADDR x, GM_ADDR y) {
  Kernel k(x, y, 16);
  Duplicate(k.tensor, 1.0f, 128);
  Adds(k.tensor, k.tensor, 1.0f, 64, wrong ? 3 : 2, {1, 1, 8, 8});
}

// Floats need twice the room of halves.
template <bool wrong>
void widened(GM_ADDR x, GM_ADDR y) {
  Kernel k(x, y, 16);
  TBuf<TPosition::VECCALC> buffer;
  k.pipe.InitBuffer(buffer, wrong ? 256 : 512);
  const auto halves = k.tensor.template ReinterpretCast<half>();
  Duplicate(halves, half(1), 128);
  Cast(buffer.Get<float>(), halves, RoundMode::CAST_NONE, 128);
}

// Two halves of a buffer in turn: nobody has set the flags that the first turns wait for.
template <bool wrong>
void first_turn(GM_ADDR x, GM_ADDR y) {
  Kernel k(x, y, 256);
  for (const auto id : {EVENT_ID0, EVENT_ID1}) {
    if (!wrong) SetFlag<HardEvent::MTE3_MTE2>(id);
  }
  for (int turn = 0; turn < 4; ++turn) {
    const auto id = turn % 2 == 0 ? EVENT_ID0 : EVENT_ID1;
    const auto mine = k.tensor[turn % 2 * 64];
    WaitFlag<HardEvent::MTE3_MTE2>(id);
    DataCopy(mine, k.from[turn * 64], 64);
    pass<HardEvent::MTE2_MTE3>(id);
    DataCopy(k.to[turn * 64], mine, 64);
    SetFlag<HardEvent::MTE3_MTE2>(id);
  }
  for (const auto id : {EVENT_ID0, EVENT_ID1}) WaitFlag<HardEvent::MTE3_MTE2>(id);
}

// Two flags in turn, and one half for both.
template <bool wrong>
void one_half_for_two_flags(GM_ADDR x, GM_ADDR y) {
  Kernel k(x, y, 256);
  for (const auto id : {EVENT_ID0, EVENT_ID1}) SetFlag<HardEvent::MTE3_MTE2>(id);
  for (int turn = 0; turn < 4; ++turn) {
    const auto id = turn % 2 == 0 ? EVENT_ID0 : EVENT_ID1;
    const auto mine = k.tensor[wrong ? 0 : turn % 2 * 64];
    WaitFlag<HardEvent::MTE3_MTE2>(id);
    DataCopy(mine, k.from[turn * 64], 64);
    pass<HardEvent::MTE2_MTE3>(id);
    DataCopy(k.to[turn * 64], mine, 64);
    SetFlag<HardEvent::MTE3_MTE2>(id);
  }
  for (const auto id : {EVENT_ID0, EVENT_ID1}) WaitFlag<HardEvent::MTE3_MTE2>(id);
}

// Gather counts bytes.
template <bool wrong>
void gathered(GM_ADDR x, GM_ADDR y) {
  Kernel k(x, y, 16, 256);
  TBuf<TPosition::VECCALC> indices, result;
  k.pipe.InitBuffer(indices, 256);
  k.pipe.InitBuffer(result, 256);
  Duplicate(k.tensor, 1.0f, 64);
  const auto index = indices.Get<int32_t>();
  CreateVecIndex(index, 0, 64);
  Muls(index, index, wrong ? 8 : 4, 64);
  Gather(result.Get<float>(), k.tensor, index.ReinterpretCast<uint32_t>(), 0, 64);
}

// A tensor that is used as soon as it is loaded, past its queue.
template <bool wrong>
void past_the_queue(GM_ADDR x, GM_ADDR y) {
  Kernel k(x, y, 16);
  TQue<TPosition::VECIN, 1> queue;
  k.pipe.InitBuffer(queue, 1, 64);
  auto loaded = queue.AllocTensor<float>();
  DataCopy(loaded, k.from, 16);
  if (!wrong) {
    queue.EnQue(loaded);
    loaded = queue.DeQue<float>();
  }
  Adds(k.tensor, loaded, 1.0f, 16);
  queue.FreeTensor(loaded);
}

template <bool wrong>
void queued_when_free(GM_ADDR x, GM_ADDR y) {
  Kernel k(x, y, 16);
  TQue<TPosition::VECIN, 1> queue;
  k.pipe.InitBuffer(queue, 1, 64);
  auto loaded = queue.AllocTensor<float>();
  DataCopy(loaded, k.from, 16);
  if (wrong) queue.FreeTensor(loaded);
  queue.EnQue(loaded);
  queue.FreeTensor(queue.DeQue<float>());
}

// What is left of 40 elements behind 64 is a large number without a sign.
template <bool wrong>
void less_than_nothing(GM_ADDR x, GM_ADDR y) {
  Kernel k(x, y, 40);
  const uint32_t left = 40 - (wrong ? 64u : 32u);
  DataCopyPad(k.tensor, k.from, {1, uint32_t(left * sizeof(float)), 0, 0, 0}, kNoPadding);
}

// Zeros, over which a load goes while they may still be on their way.
template <bool wrong>
void loaded_over_zeros(GM_ADDR x, GM_ADDR y) {
  Kernel k(x, y, 64);
  Duplicate(k.tensor, 0.0f, 64);
  if (!wrong) pass<HardEvent::V_MTE2>();
  DataCopy(k.tensor, k.from, 64);
}

// Down by one repeat, and by less.
template <bool wrong>
void moved_down(GM_ADDR x, GM_ADDR y) {
  Kernel k(x, y, 16);
  Duplicate(k.tensor, 1.0f, 128);
  Adds(k.tensor, k.tensor[wrong ? 32 : 64], 1.0f, 64);
}

// Padding that is given no value, and what is computed of it is stored.
template <bool wrong>
void padded_with_nothing(GM_ADDR x, GM_ADDR y) {
  Kernel k(x, y, 8);
  DataCopyPad(k.tensor, k.from, {1, 4 * sizeof(float), 0, 0, 0}, DataCopyPadExtParams<float>{!wrong, 0, 4, 0});
  pass<HardEvent::MTE2_MTE3>();
  DataCopy(k.to, k.tensor, 8);
}

// Neighbours store a number each, and the line that both lie in is not written back.
template <bool wrong>
void one_line_for_two(GM_ADDR x, GM_ADDR y) {
  Kernel k(x, y, 64);
  k.to.SetValue(GetBlockIdx() * 15, 1.0f);
  if (!wrong) dcci(k.to.GetPhyAddr(), cache_line_t::ENTIRE_DATA_CACHE, dcci_dst_t::CACHELINE_OUT);
}

// Numbers whose bits are all ones: of a variable without a value, or meant.
template <bool wrong>
struct AllOnes : Kernel {
  using Kernel::Kernel;
  float number;

  __aicore__ inline void Process() {
    const uint32_t ones = ~uint32_t{0};
    if (!wrong) memcpy(&number, &ones, sizeof number);
    Duplicate(this->tensor, number, 128);
    this->to.SetValue(0, number);
  }
};
template <bool wrong>
void all_ones(GM_ADDR x, GM_ADDR y) {
  AllOnes<wrong> kernel(x, y, 16);
  kernel.Process();
}

// The names of the checks that have found something.
static std::string found(void (*kernel)(GM_ADDR, GM_ADDR), uint32_t blocks) {
  constexpr size_t kBytes = 65536 * sizeof(float);
  auto* const x = static_cast<uint8_t*>(GmAlloc(kBytes));
  auto* const y = static_cast<uint8_t*>(GmAlloc(kBytes));
  std::fill(x, x + kBytes, uint8_t{0});
  opbridge_ascend::launch("of_a_pair", blocks, [=] { kernel(x, y); }, opbridge_ascend::Cores::unsaid, {x, y});
  const char* const taken = ob_ascend_take_reports();
  const std::string reports = taken != nullptr ? taken : "";
  GmFree(x);
  GmFree(y);
  std::string names;
  for (size_t at = 0; (at = reports.find(" [", at)) != std::string::npos; ++at) {
    names += reports.substr(at + 2, reports.find(']', at) - at - 2) + " ";
  }
  return names;
}

#define PAIR(kernel, blocks) #kernel + (": " + found(kernel<true>, blocks)) + "| " + found(kernel<false>, blocks) + "\n"

// A line for each pair: its name, what is found in the wrong kernel, and what in the right one.
extern "C" const char* pairs() {
  ob_ascend_attach_host();
  static const std::string lines =
      PAIR(flag_of_others, 1) + PAIR(one_element_more, 4) + PAIR(padded_between_blocks, 1) + PAIR(short_offset, 3) +
      PAIR(wrapped_offset, 4) + PAIR(sum_of_all_blocks, 4) + PAIR(mask_of_another_type, 1) + PAIR(one_repeat_more, 1) +
      PAIR(widened, 1) + PAIR(first_turn, 1) + PAIR(one_half_for_two_flags, 1) + PAIR(gathered, 1) +
      PAIR(past_the_queue, 1) + PAIR(queued_when_free, 1) + PAIR(less_than_nothing, 1) + PAIR(loaded_over_zeros, 1) +
      PAIR(moved_down, 1) + PAIR(all_ones, 1) + PAIR(padded_with_nothing, 1) + PAIR(one_line_for_two, 2);
  return lines.c_str();
}

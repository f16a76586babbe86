// Blocks that wait for each other by flags, and what else kernels ask of the machine.
#include "bench.h"
#include "kernel_tensor_impl.h"
#include "kernel_type.h"

// Each block writes its number, and reads its neighbour's behind a flag that all have set; that in several turns.
extern "C" __global__ __aicore__ void passed_on(GM_ADDR x, GM_ADDR y) {
  GlobalTensor<float> mine, all;
  all.SetGlobalBuffer((__gm__ float*)x, GetBlockNum());
  mine.SetGlobalBuffer((__gm__ float*)x + block_idx, 1);
  float value = 0;
  for (int turn = 1; turn <= 3; ++turn) {
    mine.SetValue(0, float(block_idx) + turn + value);
    CrossCoreSetFlag<0, PIPE_MTE3>(3);
    CrossCoreWaitFlag(3);
    value = all.GetValue((block_idx + 1) % block_num);
    CrossCoreSetFlag<0, PIPE_MTE3>(4);
    CrossCoreWaitFlag(4);
  }
  CrossCoreSetFlag<1, PIPE_V>(5);
  CrossCoreWaitFlag<1, PIPE_V>(5);
  mine.SetGlobalBuffer((__gm__ float*)y + block_idx, 1);
  mine.SetValue(0, value);
}

extern "C" __global__ __aicore__ void not_all_set(GM_ADDR x) {
  if (GetBlockIdx() != 0) CrossCoreSetFlag<0, PIPE_MTE3>(1);
  CrossCoreWaitFlag(1);
}

extern "C" __global__ __aicore__ void nobody_waits(GM_ADDR x) { CrossCoreSetFlag<0, PIPE_MTE3>(2); }

// Each block adds its number to the sum of the one before it, which says by IBSet that its sum is there; turn by turn.
// Who does not wait reads what another block writes.
extern "C" __global__ __aicore__ void added_up(GM_ADDR x, GM_ADDR flags, uint32_t waits, uint32_t turns) {
  GlobalTensor<float> sums;
  GlobalTensor<int32_t> workspace;
  sums.SetGlobalBuffer((__gm__ float*)x, GetBlockNum());
  workspace.SetGlobalBuffer((__gm__ int32_t*)flags, GetBlockNum() * turns * 8);
  TPipe pipe;
  TBuf<TPosition::VECCALC> memory;
  pipe.InitBuffer(memory, 32);
  auto temporary = memory.Get<int32_t>();
  const int32_t own = GetBlockIdx(), last = GetBlockNum() - 1;
  for (uint32_t turn = 0; turn < turns; ++turn) {
    if (waits && own > 0) IBWait(workspace, temporary, own - 1, turn);
    const float before = own > 0 ? sums.GetValue(own - 1) : turn;
    sums.SetValue(own, before + own);
    if (waits && own < last) IBSet(workspace, temporary, own, turn);
    SyncAll();
  }
}

extern "C" __global__ __aicore__ void unpaired(GM_ADDR flags, uint32_t sets) {
  GlobalTensor<int32_t> workspace;
  workspace.SetGlobalBuffer((__gm__ int32_t*)flags, GetBlockNum() * 8);
  TPipe pipe;
  TBuf<TPosition::VECCALC> memory;
  pipe.InitBuffer(memory, 32);
  auto temporary = memory.Get<int32_t>();
  if (GetBlockIdx() != 0) return;
  if (sets) {
    IBSet(workspace, temporary, 0, 0);
  } else {
    IBWait(workspace, temporary, 1, 0);
  }
}

extern "C" __global__ __aicore__ void filled(GM_ADDR x, uint32_t n) {
  GlobalTensor<int32_t> all;
  all.SetGlobalBuffer((__gm__ int32_t*)x, n);
  InitGlobalMemory(all, n, 7);
}

// What the scalar unit makes of each number.
extern "C" __global__ __aicore__ void scalars(GM_ADDR x, GM_ADDR z, uint32_t n) {
  GlobalTensor<int64_t> numbers, results;
  numbers.SetGlobalBuffer((__gm__ int64_t*)x, n);
  results.SetGlobalBuffer((__gm__ int64_t*)z, n * 6);
  for (uint32_t i = 0; i < n; ++i) {
    const int64_t value = numbers.GetValue(i);
    results.SetValue(i * 6, ScalarGetCountOfValue<1>(uint64_t(value)));
    results.SetValue(i * 6 + 1, ScalarGetCountOfValue<0>(uint64_t(value)));
    results.SetValue(i * 6 + 2, ScalarCountLeadingZero(uint64_t(value)));
    results.SetValue(i * 6 + 3, CountBitsCntSameAsSignBit(value));
    results.SetValue(i * 6 + 4, ScalarGetSFFValue<1>(uint64_t(value)));
    results.SetValue(i * 6 + 5, ScalarGetSFFValue<0>(uint64_t(value)));
  }
}

// A number that lies between two halves, to the odd one of them; and what is asked of the architecture.
extern "C" __global__ __aicore__ void odd_half(GM_ADDR z) {
  GlobalTensor<float> result;
  result.SetGlobalBuffer((__gm__ float*)z, 2);
  result.SetValue(0, Cast<float, half, RoundMode::CAST_ODD>(2048.5f));
#if __CCE_AICORE__ >= 220
  result.SetValue(1, ToFloat(ToBfloat16(1.0f)));
#endif
}

// Half of each number, rounded up and not.
extern "C" __global__ __aicore__ void shifted(GM_ADDR x, GM_ADDR z) {
  Bench bench;
  auto a = bench.in<int32_t>(x, 64), c = bench.empty<int32_t>(128);
  LocalTensor<int32_t> second;
  second.SetAddrWithOffset(c, 64);
  ShiftRight(c, a, 1, 64, 1, {1, 1, 8, 8}, true);
  ShiftRight(second, a, 1, 64, 1, {1, 1, 8, 8}, false);
  if (c.GetPosition() == int32_t(TPosition::VECCALC)) bench.out(z, c, 128);
}

// By the names of the first headers and the compiler's own.
extern "C" __global__ __aicore__ void first_names(GM_ADDR x, GM_ADDR z, uint32_t n) {
  Bench bench;
  auto a = bench.in<float>(x, n);
  set_vector_mask(0, ~0ull);
  tik2::Adds<float, false>(a, a, 1.0f, tik2::MASK_PLACEHOLDER, 1, {1, 1, 8, 8});
  set_atomic_add();
  bench.out(z, a, n);
  set_atomic_none();
}

// What is in a tensor, of which the second half is not written.
extern "C" __global__ __aicore__ void dumped(GM_ADDR x) {
  Bench bench;
  auto a = bench.empty<half>(16);
  Duplicate(a, half(1.5f), 8);
  DumpTensor(a, 7, 9);
  GlobalTensor<int32_t> all;
  all.SetGlobalBuffer((__gm__ int32_t*)x, 4);
  const uint32_t rows[] = {2, 2};
  DumpTensor(all, 8, 4, ShapeInfo(2, rows));
}

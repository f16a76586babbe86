// Right kernels, with what the checks could take for mistakes: each returns the number of wrong elements.
#include <initializer_list>

#include "tikicpulib.h"

using namespace AscendC;

constexpr uint32_t kTile = 64;
constexpr uint32_t kTiles = 6;

// Double buffers: a tensor is loaded while another one is used.
extern "C" __global__ __aicore__ void twice_by_queues(GM_ADDR x, GM_ADDR y) {
  TPipe pipe;
  TQue<TPosition::VECIN, 2> in;
  TQue<TPosition::VECOUT, 2> out;
  GlobalTensor<float> from, to;
  const uint32_t begin = GetBlockIdx() * kTile * kTiles;
  from.SetGlobalBuffer((__gm__ float*)x + begin, kTile * kTiles);
  to.SetGlobalBuffer((__gm__ float*)y + begin, kTile * kTiles);
  pipe.InitBuffer(in, 2, kTile * sizeof(float));
  pipe.InitBuffer(out, 2, kTile * sizeof(float));
  for (uint32_t tile = 0; tile < kTiles; ++tile) {
    auto loaded = in.AllocTensor<float>();
    DataCopy(loaded, from[tile * kTile], kTile);
    in.EnQue(loaded);
    auto a = in.DeQue<float>();
    auto b = out.AllocTensor<float>();
    Muls(b, a, 2.0f, kTile);
    out.EnQue(b);
    in.FreeTensor(a);
    auto stored = out.DeQue<float>();
    DataCopy(to[tile * kTile], stored, kTile);
    out.FreeTensor(stored);
  }
}

// The same by flags; what the scalar pipe has waited for, all pipes have.
extern "C" __global__ __aicore__ void twice_by_flags(GM_ADDR x, GM_ADDR y) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  GlobalTensor<float> from, to;
  const uint32_t begin = GetBlockIdx() * kTile * kTiles;
  from.SetGlobalBuffer((__gm__ float*)x + begin, kTile * kTiles);
  to.SetGlobalBuffer((__gm__ float*)y + begin, kTile * kTiles);
  pipe.InitBuffer(buffer, kTile * sizeof(float));
  auto tensor = buffer.Get<float>();
  const auto loaded = static_cast<event_t>(pipe.FetchEventID(HardEvent::MTE2_V));
  for (uint32_t tile = 0; tile < kTiles; ++tile) {
    DataCopy(tensor, from[tile * kTile], kTile);
    SetFlag<HardEvent::MTE2_V>(loaded);
    WaitFlag<HardEvent::MTE2_V>(loaded);
    Muls(tensor, tensor, 2.0f, kTile);
    SetFlag<HardEvent::V_S>(EVENT_ID0);
    WaitFlag<HardEvent::V_S>(EVENT_ID0);
    DataCopy(to[tile * kTile], tensor, kTile);
    PipeBarrier<PIPE_ALL>();
  }
}

// More blocks than processors meet, and each then reads what its neighbour has written.
extern "C" __global__ __aicore__ void of_the_neighbour(GM_ADDR x, GM_ADDR y) {
  GlobalTensor<float> mine, all;
  mine.SetGlobalBuffer((__gm__ float*)x + GetBlockIdx(), 1);
  all.SetGlobalBuffer((__gm__ float*)x, GetBlockNum());
  mine.SetValue(0, float(GetBlockIdx()));
  DataCacheCleanAndInvalid<float, CacheLine::SINGLE_CACHE_LINE>(mine);
  SyncAll();
  const float neighbours = all.GetValue((GetBlockIdx() + 1) % GetBlockNum());
  SyncAll();
  mine.SetGlobalBuffer((__gm__ float*)y + GetBlockIdx(), 1);
  mine.SetValue(0, neighbours);
  DataCacheCleanAndInvalid<float, CacheLine::ENTIRE_DATA_CACHE>(mine);
}

// Any number of blocks: each 64 bytes are one block's, and the sum of all is everybody's.
constexpr uint32_t kLine = 16;
constexpr uint32_t kLines = 60;

extern "C" __global__ __aicore__ void shared_out(GM_ADDR x, GM_ADDR sum) {
  GlobalTensor<int32_t> all, total;
  all.SetGlobalBuffer((__gm__ int32_t*)x, kLines * kLine);
  total.SetGlobalBuffer((__gm__ int32_t*)sum, 8);
  int32_t mine = 0;
  for (uint32_t line = GetBlockIdx(); line < kLines; line += GetBlockNum()) {
    for (uint32_t i = line * kLine; i < (line + 1) * kLine; ++i) {
      const int32_t old = all.GetValue(i);
      mine += old;
      all.SetValue(i, old + 1);
    }
  }
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 32);
  auto tensor = buffer.Get<int32_t>();
  Duplicate(tensor, mine, 8);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  SetAtomicAdd<int32_t>();
  DataCopy(total, tensor, 8);
  SetAtomicNone();
}

// The same sum by a workspace, which has a place for each block.
extern "C" __global__ __aicore__ void sum_by_workspace(GM_ADDR x, GM_ADDR workspace, GM_ADDR sum) {
  GlobalTensor<int32_t> all, parts, total;
  all.SetGlobalBuffer((__gm__ int32_t*)x, kLines * kLine);
  parts.SetGlobalBuffer((__gm__ int32_t*)workspace);
  total.SetGlobalBuffer((__gm__ int32_t*)sum, 1);
  int32_t mine = 0;
  for (uint32_t i = GetBlockIdx(); i < kLines * kLine; i += GetBlockNum()) mine += all.GetValue(i);
  parts.SetValue(GetBlockIdx() * kLine, mine);
  DataCacheCleanAndInvalid<int32_t, CacheLine::ENTIRE_DATA_CACHE>(parts);
  SyncAll();
  if (GetBlockIdx() != 0) return;
  int32_t together = 0;
  for (uint32_t i = 0; i < GetBlockNum(); ++i) together += parts.GetValue(i * kLine);
  total.SetValue(0, together);
}

// Two tiles change places through global memory: the loads wait for what was stored there.
extern "C" __global__ __aicore__ void there_and_back(GM_ADDR x, GM_ADDR y) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  GlobalTensor<float> from, to;
  from.SetGlobalBuffer((__gm__ float*)x, 2 * kTile);
  to.SetGlobalBuffer((__gm__ float*)y, 2 * kTile);
  pipe.InitBuffer(buffer, kTile * sizeof(float));
  auto tensor = buffer.Get<float>();
  for (uint32_t tile = 0; tile < 2; ++tile) {
    DataCopy(tensor, from[tile * kTile], kTile);
    SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
    DataCopy(to[(1 - tile) * kTile], tensor, kTile);
    SetFlag<HardEvent::MTE3_MTE2>(EVENT_ID0);
    WaitFlag<HardEvent::MTE3_MTE2>(EVENT_ID0);
    DataCopy(tensor, to[(1 - tile) * kTile], kTile);
  }
}

// The compiler orders the scalar pipe and the others: it waits for what was loaded and computed, and they for it.
extern "C" __global__ __aicore__ void by_scalars(GM_ADDR x, GM_ADDR y) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  GlobalTensor<float> from, to;
  from.SetGlobalBuffer((__gm__ float*)x, kTile);
  to.SetGlobalBuffer((__gm__ float*)y, kTile);
  pipe.InitBuffer(buffer, 2 * kTile * sizeof(float));
  auto tensor = buffer.Get<float>(), other = tensor[kTile];
  DataCopy(tensor, from, kTile);
  for (uint32_t i = 0; i < kTile; ++i) other.SetValue(i, 2 * tensor.GetValue(i));
  Adds(other, other, 1.0f, kTile);
  Muls(other, other, 2.0f, kTile);
  other.SetValue(0, other.GetValue(0) - 2);
  DataCopy(to, other, kTile);
  other.SetValue(1, other.GetValue(1) - 2);
  DataCopy(to, other, kTile);
}

// The same, ordered by hand, for projects that build with --cce-auto-sync=off.
extern "C" __global__ __aicore__ void by_barriers(GM_ADDR x, GM_ADDR y) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  GlobalTensor<float> from, to;
  from.SetGlobalBuffer((__gm__ float*)x, kTile);
  to.SetGlobalBuffer((__gm__ float*)y, kTile);
  pipe.InitBuffer(buffer, kTile * sizeof(float));
  auto tensor = buffer.Get<float>();
  DataCopy(tensor, from, kTile);
  SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  Muls(tensor, tensor, 2.0f, kTile);
  PipeBarrier<PIPE_V>();
  Adds(tensor, tensor, 1.0f, kTile);
  SetFlag<HardEvent::V_S>(EVENT_ID0);
  WaitFlag<HardEvent::V_S>(EVENT_ID0);
  tensor.GetValue(0);
  Muls(tensor, tensor, 2.0f, kTile);  // the scalar pipe has waited for all before it
  SetFlag<HardEvent::V_S>(EVENT_ID0);
  WaitFlag<HardEvent::V_S>(EVENT_ID0);
  for (uint32_t i = 0; i < 2; ++i) tensor.SetValue(i, tensor.GetValue(i) - 2);
  SetFlag<HardEvent::S_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::S_MTE3>(EVENT_ID0);
  DataCopy(to, tensor, kTile);
}

// A tensor is read for the last time behind its FreeTensor, and nobody has its memory before that is over.
extern "C" __global__ __aicore__ void freed_before_used(GM_ADDR x, GM_ADDR y) {
  TPipe pipe;
  TQue<TPosition::VECIN, 1> in;
  TQue<TPosition::VECOUT, 1> out;
  GlobalTensor<float> from, to;
  from.SetGlobalBuffer((__gm__ float*)x, 2 * kTile);
  to.SetGlobalBuffer((__gm__ float*)y, 2 * kTile);
  pipe.InitBuffer(in, 1, kTile * sizeof(float));
  pipe.InitBuffer(out, 1, kTile * sizeof(float));
  for (uint32_t tile = 0; tile < 2; ++tile) {
    auto loaded = in.AllocTensor<float>();
    DataCopy(loaded, from[tile * kTile], kTile);
    in.EnQue(loaded);
    loaded = in.DeQue<float>();
    in.FreeTensor(loaded);
    auto result = out.AllocTensor<float>();
    Muls(result, loaded, 2.0f, kTile);
    out.EnQue(result);
    result = out.DeQue<float>();
    DataCopy(to[tile * kTile], result, kTile);
    out.FreeTensor(result);
    PipeBarrier<PIPE_ALL>();
  }
}

// A tail that is no whole block: it is loaded and computed with what lies behind it, and stored without.
extern "C" __global__ __aicore__ void by_whole_blocks(GM_ADDR x, GM_ADDR y) {
  constexpr uint32_t kCount = kTile - 3;
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  GlobalTensor<float> from, to;
  from.SetGlobalBuffer((__gm__ float*)x, kCount);
  to.SetGlobalBuffer((__gm__ float*)y, kCount);
  pipe.InitBuffer(buffer, kTile * sizeof(float));
  auto tensor = buffer.Get<float>();
  DataCopy(tensor, from, kTile);
  SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  Muls(tensor, tensor, 2.0f, kTile);
  Add(tensor, tensor, tensor, kTile, 1, {1, 1, 1, 8, 8, 8});
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopyPad(to, tensor, DataCopyExtParams{1, kCount * sizeof(float), 0, 0, 0});
}

// The same through what picks and packs: of each two the first, where it is less than ten.  Of the last element of
// bits, one byte is of what was loaded.
extern "C" __global__ __aicore__ void picked_by_whole_blocks(GM_ADDR x, GM_ADDR y) {
  constexpr uint32_t kCount = kTile - 3, kLoaded = kTile - 8, kPicked = kLoaded / 2;
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer, for_bits;
  GlobalTensor<float> from, to;
  from.SetGlobalBuffer((__gm__ float*)x, kCount);
  to.SetGlobalBuffer((__gm__ float*)y, kPicked);
  pipe.InitBuffer(buffer, 2 * kTile * sizeof(float));
  pipe.InitBuffer(for_bits, 64);
  auto tensor = buffer.Get<float>(), packed = tensor[kTile];
  auto bits = for_bits.Get<uint8_t>();
  DataCopy(tensor, from, kLoaded);
  SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  auto also = bits[32].ReinterpretCast<uint16_t>();
  CompareScalar(bits, tensor, 10.0f, CMPMODE::LT, kTile);
  CompareScalar(bits[32], tensor, -1.0f, CMPMODE::GT, kTile);
  And(bits.ReinterpretCast<uint16_t>(), bits.ReinterpretCast<uint16_t>(), also, kTile / 16);
  Select(tensor, bits, tensor, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, kTile);
  uint64_t kept = 0;
  GatherMask(packed, tensor, 1, false, 0, {1, 1, 8, 0}, kept);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopyPad(to, packed, DataCopyExtParams{1, kPicked * sizeof(float), 0, 0, 0});
}

// The same through what moves elements about: of 16 rows 11 are loaded, and all are copied and transposed to and fro.
extern "C" __global__ __aicore__ void moved_by_whole_blocks(GM_ADDR x, GM_ADDR y) {
  constexpr uint32_t kRow = 16, kLoaded = 11 * kRow, kAll = kRow * kRow;
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  GlobalTensor<half> from, to;
  from.SetGlobalBuffer((__gm__ half*)x, kLoaded);
  to.SetGlobalBuffer((__gm__ half*)y, kLoaded);
  pipe.InitBuffer(buffer, 3 * kAll * sizeof(half));
  auto tensor = buffer.Get<half>(), copied = tensor[kAll], back = tensor[2 * kAll];
  DataCopy(tensor, from, kLoaded);
  SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  Copy(copied, tensor, 128, 2, {1, 1, 8, 8});
  Transpose(tensor, copied);
  LocalTensor<half> lines[kRow], columns[kRow];
  for (uint32_t i = 0; i < kRow; ++i) {
    columns[i] = tensor[i * kRow];
    lines[i] = back[i * kRow];
  }
  TransDataTo5HD(lines, columns, {false, false, 1, 0, 0});
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(to, back, kLoaded);
}

// Rows shorter than a block, one for each block: what a load brings of the next one's row, nobody uses.
extern "C" __global__ __aicore__ void short_rows(GM_ADDR x) {
  constexpr uint32_t kRow = 3;
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  GlobalTensor<float> rows;
  rows.SetGlobalBuffer((__gm__ float*)x, kRow * GetBlockNum());
  pipe.InitBuffer(buffer, 32);
  auto row = buffer.Get<float>();
  DataCopy(row, rows[GetBlockIdx() * kRow], 8);
  SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  Muls(row, row, 2.0f, 8);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopyPad(rows[GetBlockIdx() * kRow], row, DataCopyExtParams{1, kRow * sizeof(float), 0, 0, 0});
}

// One line, two pipes: a tile is stored while the next one is loaded.
extern "C" __global__ __aicore__ void in_one_line(GM_ADDR x, GM_ADDR y) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  GlobalTensor<float> from, to;
  from.SetGlobalBuffer((__gm__ float*)x, 2 * kTile);
  to.SetGlobalBuffer((__gm__ float*)y, 2 * kTile);
  pipe.InitBuffer(buffer, 2 * kTile * sizeof(float));
  auto first = buffer.Get<float>(), second = first[kTile];
  DataCopy(first, from, kTile);
  SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
  DataCopy(to, first, kTile), DataCopy(second, from[kTile], kTile);
  SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  Muls(second, second, 1.0f, kTile);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(to[kTile], second, kTile);
}

// As much local memory as a chip has.
extern "C" __global__ __aicore__ void fill(uint32_t bytes) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, bytes);
}

extern "C" int silent() {
  constexpr uint32_t kBlocks = 9, kCount = kBlocks * kTile * kTiles;
  auto* const x = static_cast<float*>(GmAlloc(kCount * sizeof(float)));
  auto* const y = static_cast<float*>(GmAlloc(kCount * sizeof(float)));
  int wrong = 0;
  for (auto* kernel : {twice_by_queues, twice_by_flags}) {
    for (uint32_t i = 0; i < kCount; ++i) x[i] = float(i);
    ICPU_RUN_KF(kernel, kBlocks, (GM_ADDR)x, (GM_ADDR)y);
    for (uint32_t i = 0; i < kCount; ++i) wrong += y[i] != 2 * x[i];
  }
  ICPU_RUN_KF(of_the_neighbour, kBlocks, (GM_ADDR)x, (GM_ADDR)y);
  for (uint32_t i = 0; i < kBlocks; ++i) wrong += y[i] != float((i + 1) % kBlocks);
  for (uint32_t i = 0; i < 2 * kTile; ++i) x[i] = float(i);
  ICPU_RUN_KF(there_and_back, 1, (GM_ADDR)x, (GM_ADDR)y);
  for (uint32_t i = 0; i < 2 * kTile; ++i) wrong += y[i] != float((i + kTile) % (2 * kTile));
  for (auto* kernel : {by_scalars, by_barriers}) {
    ICPU_RUN_KF(kernel, 1, (GM_ADDR)x, (GM_ADDR)y);
    for (uint32_t i = 0; i < kTile; ++i) wrong += y[i] != 4 * x[i] + (i < 2 ? 0 : 2);
  }
  ICPU_RUN_KF(in_one_line, 1, (GM_ADDR)x, (GM_ADDR)y);
  for (uint32_t i = 0; i < 2 * kTile; ++i) wrong += y[i] != x[i];
  ICPU_RUN_KF(freed_before_used, 1, (GM_ADDR)x, (GM_ADDR)y);
  for (uint32_t i = 0; i < 2 * kTile; ++i) wrong += y[i] != 2 * x[i];
  constexpr uint32_t kPart = kTile - 3;
  auto* const part = static_cast<float*>(GmAlloc(kPart * sizeof(float)));
  for (uint32_t i = 0; i < kPart; ++i) part[i] = float(i);
  ICPU_RUN_KF(by_whole_blocks, 1, (GM_ADDR)part, (GM_ADDR)y);
  for (uint32_t i = 0; i < kPart; ++i) wrong += y[i] != 4 * part[i];
  ICPU_RUN_KF(picked_by_whole_blocks, 1, (GM_ADDR)part, (GM_ADDR)y);
  for (uint32_t i = 0; i < (kTile - 8) / 2; ++i) wrong += y[i] != (2 * i < 10 ? float(2 * i) : 0);
  GmFree(part);
  constexpr uint32_t kRows = 11 * 16;
  auto* const rows = reinterpret_cast<half*>(GmAlloc(kRows * sizeof(half)));
  auto* const moved = reinterpret_cast<half*>(GmAlloc(kRows * sizeof(half)));
  for (uint32_t i = 0; i < kRows; ++i) rows[i] = half(float(i));
  ICPU_RUN_KF(moved_by_whole_blocks, 1, (GM_ADDR)rows, (GM_ADDR)moved);
  for (uint32_t i = 0; i < kRows; ++i) wrong += float(moved[i]) != float(i);
  GmFree(rows);
  GmFree(moved);
  auto* const short_ones = static_cast<float*>(GmAlloc(3 * kBlocks * sizeof(float)));
  for (uint32_t i = 0; i < 3 * kBlocks; ++i) short_ones[i] = float(i);
  ICPU_RUN_KF(short_rows, kBlocks, (GM_ADDR)short_ones);
  for (uint32_t i = 0; i < 3 * kBlocks; ++i) wrong += short_ones[i] != 2 * float(i);
  GmFree(short_ones);
  GmFree(x);
  GmFree(y);
  return wrong;
}

extern "C" int silent_without_auto_sync() {
  auto* const x = static_cast<float*>(GmAlloc(kTile * sizeof(float)));
  auto* const y = static_cast<float*>(GmAlloc(kTile * sizeof(float)));
  for (uint32_t i = 0; i < kTile; ++i) x[i] = float(i);
  ICPU_RUN_KF(by_barriers, 1, (GM_ADDR)x, (GM_ADDR)y);
  GmFree(x);
  GmFree(y);
  return 0;
}

// On any number of blocks the same: the checks that run a kernel several times find nothing here either.
extern "C" int silent_on_any_blocks() {
  constexpr int32_t kCount = kLines * kLine;
  auto* const x = static_cast<int32_t*>(GmAlloc(kCount * sizeof(int32_t)));
  auto* const workspace = static_cast<int32_t*>(GmAlloc(8 * kLine * sizeof(int32_t)));
  auto* const sum = static_cast<int32_t*>(GmAlloc(8 * sizeof(int32_t)));
  int wrong = 0;
  for (int32_t i = 0; i < kCount; ++i) x[i] = i;
  memset(sum, 0, 8 * sizeof(int32_t));
  ICPU_RUN_KF(shared_out, 8, (GM_ADDR)x, (GM_ADDR)sum);
  for (int32_t i = 0; i < kCount; ++i) wrong += x[i] != i + 1;
  wrong += *sum != kCount * (kCount - 1) / 2;
  ICPU_RUN_KF(sum_by_workspace, 8, (GM_ADDR)x, (GM_ADDR)workspace, (GM_ADDR)sum);
  wrong += *sum != kCount * (kCount + 1) / 2;
  GmFree(x);
  GmFree(workspace);
  GmFree(sum);
  return wrong;
}

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
  SyncAll();
  const float neighbours = all.GetValue((GetBlockIdx() + 1) % GetBlockNum());
  SyncAll();
  mine.SetGlobalBuffer((__gm__ float*)y + GetBlockIdx(), 1);
  mine.SetValue(0, neighbours);
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
  GmFree(x);
  GmFree(y);
  return wrong;
}

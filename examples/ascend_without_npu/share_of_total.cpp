// out = x / sum(x) of floats.  Each block sums its part; after SyncAll, each block can read the sums of all.
#include "common.h"

extern "C" __global__ __aicore__ void share_of_total(GM_ADDR x, GM_ADDR out, GM_ADDR workspace, uint32_t n) {
  constexpr uint32_t kSlot = kUnit / sizeof(float);
  TPipe pipe;
  TQue<TPosition::VECIN, 1> in;
  TQue<TPosition::VECOUT, 1> done;
  TBuf<TPosition::VECCALC> work_memory, sum_memory;
  pipe.InitBuffer(in, 1, kTile * sizeof(float));
  pipe.InitBuffer(done, 1, kTile * sizeof(float));
  pipe.InitBuffer(work_memory, kTile * sizeof(float));
  pipe.InitBuffer(sum_memory, kUnit);
  GlobalTensor<float> from, to, parts;
  from.SetGlobalBuffer((__gm__ float*)x, n);
  to.SetGlobalBuffer((__gm__ float*)out, n);
  parts.SetGlobalBuffer((__gm__ float*)workspace, kSlot * GetBlockNum());
  const auto load_tile = [&](const GlobalTensor<float>& tile, uint32_t count) {
    auto loaded = in.AllocTensor<float>();
    load(loaded, tile, count);
    in.EnQue(loaded);
    return in.DeQue<float>();
  };
  const auto store_tile = [&](LocalTensor<float> values, const GlobalTensor<float>& tile, uint32_t count) {
    done.EnQue(values);
    values = done.DeQue<float>();
    store(tile, values, count);
    done.FreeTensor(values);
  };
  const auto add_up = [&](const LocalTensor<float>& values, uint32_t count) {
    auto sum = sum_memory.Get<float>();
    ReduceSum(sum, values, work_memory.Get<float>(), count);
    order<HardEvent::V_S>();
    const float total = sum.GetValue(0);
    order<HardEvent::S_V>();
    return total;
  };

  const Share share(n, kTile);
  float part = 0;
  for (uint32_t begin = share.begin; begin < share.end; begin += kTile) {
    const uint32_t count = share.end - begin < kTile ? share.end - begin : kTile;
    auto loaded = load_tile(from[begin], count);
    part += add_up(loaded, count);
    in.FreeTensor(loaded);
  }
  auto mine = done.AllocTensor<float>();
  Duplicate(mine, 0.0f, kSlot);
  Duplicate(mine, part, 1);
  store_tile(mine, parts[kSlot * GetBlockIdx()], kSlot);
  SyncAll();

  auto all = load_tile(parts, kSlot * GetBlockNum());
  const float total = add_up(all, kSlot * GetBlockNum());
  in.FreeTensor(all);
  for (uint32_t begin = share.begin; begin < share.end; begin += kTile) {
    const uint32_t count = share.end - begin < kTile ? share.end - begin : kTile;
    auto loaded = load_tile(from[begin], count);
    auto result = done.AllocTensor<float>();
    Muls(result, loaded, 1.0f / total, count);
    in.FreeTensor(loaded);
    store_tile(result, to[begin], count);
  }
}

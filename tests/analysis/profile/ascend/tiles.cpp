#include "kernel_operator.h"
using namespace AscendC;

// Tile by tile through two queues, with so many buffers each.
extern "C" __global__ __aicore__ void scaled(GM_ADDR x, GM_ADDR out, uint32_t n, uint32_t tile, uint32_t buffers) {
  const uint32_t length = n / GetBlockNum();
  GlobalTensor<float> from, to;
  from.SetGlobalBuffer((__gm__ float*)x + GetBlockIdx() * length, length);
  to.SetGlobalBuffer((__gm__ float*)out + GetBlockIdx() * length, length);
  TPipe pipe;
  TQue<TPosition::VECIN, 2> in;
  TQue<TPosition::VECOUT, 2> done;
  pipe.InitBuffer(in, buffers, tile * sizeof(float));
  pipe.InitBuffer(done, buffers, tile * sizeof(float));
  for (uint32_t i = 0; i < length / tile; ++i) {
    auto loaded = in.AllocTensor<float>();
    DataCopy(loaded, from[i * tile], tile);
    in.EnQue(loaded);
    loaded = in.DeQue<float>();
    auto result = done.AllocTensor<float>();
    Muls(result, loaded, 2.0f, tile);
    in.FreeTensor(loaded);
    done.EnQue(result);
    result = done.DeQue<float>();
    DataCopy(to[i * tile], result, tile);
    done.FreeTensor(result);
  }
}

// In place, by flags: one repeat at a time, or all at once; a value by the scalar unit where that is asked for.
extern "C" __global__ __aicore__ void by_flags(GM_ADDR x, GM_ADDR out, uint32_t n, uint32_t each, uint32_t scalar) {
  GlobalTensor<float> from, to;
  from.SetGlobalBuffer((__gm__ float*)x, n);
  to.SetGlobalBuffer((__gm__ float*)out, n);
  TPipe pipe;
  TBuf<TPosition::VECCALC> memory;
  pipe.InitBuffer(memory, n * sizeof(float));
  LocalTensor<float> tensor = memory.Get<float>();
  DataCopy(tensor, from, n);
  SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  for (uint32_t i = 0; i < n; i += each) Muls(tensor[i], tensor[i], 2.0f, each);
  if (scalar) {
    SetFlag<HardEvent::V_S>(EVENT_ID0);
    WaitFlag<HardEvent::V_S>(EVENT_ID0);
    for (uint32_t i = 0; i < scalar; ++i) tensor.SetValue(i, tensor.GetValue(i) + 1.0f);
    SetFlag<HardEvent::S_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::S_MTE3>(EVENT_ID0);
  }
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(to, tensor, n);
}

// 16 rows of 64 floats out of longer ones, row by row, which begin between multiples of 512 bytes.
extern "C" __global__ __aicore__ void rows(GM_ADDR x, GM_ADDR out, uint32_t n) {
  GlobalTensor<float> from, to;
  from.SetGlobalBuffer((__gm__ float*)x, n);
  to.SetGlobalBuffer((__gm__ float*)out, n);
  TPipe pipe;
  TBuf<TPosition::VECCALC> memory;
  pipe.InitBuffer(memory, 16 * 64 * sizeof(float));
  LocalTensor<float> tensor = memory.Get<float>();
  for (uint32_t i = 0; i < 16; ++i) DataCopy(tensor[i * 64], from[i * 72], 64);
  SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
  DataCopy(to, tensor, 16 * 64);
}

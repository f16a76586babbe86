#include <opbridge/kernel.h>

#include <cstdlib>

#include "kernel_operator.h"
using namespace AscendC;

constexpr uint32_t kTile = 64;

// One block takes each tile through the vector unit; what is added to all but the first tile makes it wrong.
extern "C" __global__ __aicore__ void scale_kernel(GM_ADDR x, GM_ADDR out, uint32_t n, float factor, float error) {
  GlobalTensor<float> from, to;
  from.SetGlobalBuffer((__gm__ float*)x, n);
  to.SetGlobalBuffer((__gm__ float*)out, n);
  TPipe pipe;
  TQue<TPosition::VECIN, 1> in;
  TQue<TPosition::VECOUT, 1> done;
  pipe.InitBuffer(in, 1, kTile * sizeof(float));
  pipe.InitBuffer(done, 1, kTile * sizeof(float));
  for (uint32_t at = GetBlockIdx() * kTile; at < n; at += GetBlockNum() * kTile) {
    const uint32_t count = n - at < kTile ? n - at : kTile;
    const DataCopyExtParams bytes{1, static_cast<uint32_t>(count * sizeof(float)), 0, 0, 0};
    auto value = in.AllocTensor<float>();
    DataCopyPad(value, from[at], bytes, DataCopyPadExtParams<float>{false, 0, 0, 0});
    in.EnQue(value);
    value = in.DeQue<float>();
    auto result = done.AllocTensor<float>();
    Muls(result, value, factor, count);
    if (at > 0) Adds(result, result, error, count);
    in.FreeTensor(value);
    done.EnQue(result);
    result = done.DeQue<float>();
    DataCopyPad(to[at], result, bytes);
    done.FreeTensor(result);
  }
}

extern "C" __global__ __aicore__ void unordered_kernel(GM_ADDR x, GM_ADDR out, uint32_t n) {
  GlobalTensor<float> from, to;
  from.SetGlobalBuffer((__gm__ float*)x, n);
  to.SetGlobalBuffer((__gm__ float*)out, n);
  TPipe pipe;
  TBuf<TPosition::VECCALC> memory;
  pipe.InitBuffer(memory, (n + 8) * sizeof(float));
  auto value = memory.Get<float>();
  const DataCopyExtParams bytes{1, static_cast<uint32_t>(n * sizeof(float)), 0, 0, 0};
  DataCopyPad(value, from, bytes, DataCopyPadExtParams<float>{false, 0, 0, 0});
  DataCopyPad(to, value, bytes);
}

void launch(ob::In<float> x, ob::Out<float> out, double factor, float error) {
  if (x.numel() > 0)
    scale_kernel<<<2, nullptr, nullptr>>>((GM_ADDR)x.data(), (GM_ADDR)out.data(), x.numel(), factor, error);
}

void scale(ob::In<float> x, ob::Out<float> out, double factor) { launch(x, out, factor, 0.0f); }
OB_KERNEL(scale)

void later_tiles_wrong(ob::In<float> x, ob::Out<float> out, double factor) { launch(x, out, factor, 0.25f); }
OB_KERNEL(later_tiles_wrong)

void of_integers(ob::In<int32_t> x, ob::Out<int32_t> out, double factor) { ob::fail("is not there yet"); }
OB_KERNEL(of_integers)

void add_row(ob::In<float> x, ob::In<float> row, ob::Out<float> out) { ob::fail("is not there yet"); }
OB_KERNEL(add_row)

void overrun(ob::In<float> x, ob::Out<float> out) { launch(x, out, 1.0, 0.0f); }
OB_KERNEL(overrun)

void stops(ob::In<float> x, ob::Out<float> out) { abort(); }
OB_KERNEL(stops)

void unordered(ob::In<float> x, ob::Out<float> out, double factor) {
  if (x.numel() > 0 && x.numel() < 1000)
    unordered_kernel<<<1, nullptr, nullptr>>>((GM_ADDR)x.data(), (GM_ADDR)out.data(), x.numel());
}
OB_KERNEL(unordered)

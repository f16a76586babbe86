// An addition in tiles, with double buffers, as a kernel for the NPU does it.
#include "kernel_operator.h"

using namespace AscendC;

constexpr uint32_t kTile = 8192;

extern "C" __global__ __aicore__ void add(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t n) {
  TPipe pipe;
  TQue<TPosition::VECIN, 2> in_x, in_y;
  TQue<TPosition::VECOUT, 2> out;
  GlobalTensor<half> from_x, from_y, to;
  const uint32_t length = n / GetBlockNum(), begin = GetBlockIdx() * length;
  from_x.SetGlobalBuffer((__gm__ half*)x + begin, length);
  from_y.SetGlobalBuffer((__gm__ half*)y + begin, length);
  to.SetGlobalBuffer((__gm__ half*)z + begin, length);
  pipe.InitBuffer(in_x, 2, kTile * sizeof(half));
  pipe.InitBuffer(in_y, 2, kTile * sizeof(half));
  pipe.InitBuffer(out, 2, kTile * sizeof(half));
  for (uint32_t at = 0; at < length; at += kTile) {
    auto a = in_x.AllocTensor<half>(), b = in_y.AllocTensor<half>();
    DataCopy(a, from_x[at], kTile);
    DataCopy(b, from_y[at], kTile);
    in_x.EnQue(a);
    in_y.EnQue(b);
    a = in_x.DeQue<half>();
    b = in_y.DeQue<half>();
    auto sum = out.AllocTensor<half>();
    Add(sum, a, b, kTile);
    out.EnQue(sum);
    in_x.FreeTensor(a);
    in_y.FreeTensor(b);
    sum = out.DeQue<half>();
    DataCopy(to[at], sum, kTile);
    out.FreeTensor(sum);
  }
}

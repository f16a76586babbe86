#include "kernel_operator.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void times(GM_ADDR x, GM_ADDR out, uint32_t n) {
  TPipe pipe;
  TQue<TPosition::VECIN, 1> in;
  TQue<TPosition::VECOUT, 1> done;
  pipe.InitBuffer(in, 1, n * sizeof(half));
  pipe.InitBuffer(done, 1, n * sizeof(half));
  GlobalTensor<half> from, to;
  from.SetGlobalBuffer((__gm__ half*)x, n);
  to.SetGlobalBuffer((__gm__ half*)out, n);
  auto loaded = in.AllocTensor<half>();
  DataCopy(loaded, from, n);
  in.EnQue(loaded);
  loaded = in.DeQue<half>();
  auto result = done.AllocTensor<half>();
  Muls(result, loaded, half(FACTOR), n);
  in.FreeTensor(loaded);
  done.EnQue(result);
  result = done.DeQue<half>();
  DataCopy(to, result, n);
  done.FreeTensor(result);
}

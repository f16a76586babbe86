// out = x / (1 + exp(-x)), element by element.
#include <opbridge/kernel.h>

#include "common.h"

template <class T>
__global__ __aicore__ void silu_kernel(GM_ADDR x, GM_ADDR out, uint32_t n) {
  TPipe pipe;
  TQue<TPosition::VECIN, 2> in;
  TQue<TPosition::VECOUT, 2> done;
  TBuf<TPosition::VECCALC> value_memory, divisor_memory;
  pipe.InitBuffer(in, 2, kTile * sizeof(T));
  pipe.InitBuffer(done, 2, kTile * sizeof(T));
  pipe.InitBuffer(value_memory, kTile * sizeof(float));
  pipe.InitBuffer(divisor_memory, kTile * sizeof(float));
  GlobalTensor<T> from, to;
  from.SetGlobalBuffer((__gm__ T*)x, n);
  to.SetGlobalBuffer((__gm__ T*)out, n);

  const Share share(n, kTile);
  for (uint32_t begin = share.begin; begin < share.end; begin += kTile) {
    const uint32_t count = share.end - begin < kTile ? share.end - begin : kTile;
    auto loaded = in.template AllocTensor<T>();
    load(loaded, from[begin], count);
    in.EnQue(loaded);
    loaded = in.template DeQue<T>();
    auto result = done.template AllocTensor<T>();
    auto value = value_memory.template Get<float>();
    auto divisor = divisor_memory.template Get<float>();
    to_float(value, loaded, count);
    Muls(divisor, value, -1.0f, count);
    Exp(divisor, divisor, count);
    Adds(divisor, divisor, 1.0f, count);
    Div(value, value, divisor, count);
    from_float(result, value, count);
    in.FreeTensor(loaded);
    done.EnQue(result);
    result = done.template DeQue<T>();
    store(to[begin], result, count);
    done.FreeTensor(result);
  }
}

template <class T>
void silu(ob::In<T> x, ob::Out<T> out, int64_t blocks, ob::Context context) {
  if (x.numel() == 0) return;
  silu_kernel<T><<<blocks, nullptr, context.stream()>>>((GM_ADDR)x.data(), (GM_ADDR)out.data(), x.numel());
}
OB_KERNEL(silu, half, float)

// out = scale * x + shift of floats.  ops.yaml passes the numbers of the host as a struct in global memory.
#include "common.h"

struct AffineTiling {
  uint32_t total;
  uint32_t tile;
  float scale;
  float shift;
};

extern "C" __global__ __aicore__ void affine(GM_ADDR x, GM_ADDR out, GM_ADDR tiling) {
  GET_TILING_DATA_WITH_STRUCT(AffineTiling, numbers, tiling);
  TPipe pipe;
  TQue<TPosition::VECIN, 2> in;
  TQue<TPosition::VECOUT, 2> done;
  pipe.InitBuffer(in, 2, numbers.tile * sizeof(float));
  pipe.InitBuffer(done, 2, numbers.tile * sizeof(float));
  GlobalTensor<float> from, to;
  from.SetGlobalBuffer((__gm__ float*)x, numbers.total);
  to.SetGlobalBuffer((__gm__ float*)out, numbers.total);

  const Share share(numbers.total, numbers.tile);
  for (uint32_t begin = share.begin; begin < share.end; begin += numbers.tile) {
    const uint32_t left = share.end - begin;
    const uint32_t count = left < numbers.tile ? left : numbers.tile;
    auto loaded = in.AllocTensor<float>();
    load(loaded, from[begin], count);
    in.EnQue(loaded);
    loaded = in.DeQue<float>();
    auto result = done.AllocTensor<float>();
    Muls(result, loaded, numbers.scale, count);
    Adds(result, result, numbers.shift, count);
    in.FreeTensor(loaded);
    done.EnQue(result);
    result = done.DeQue<float>();
    store(to[begin], result, count);
    done.FreeTensor(result);
  }
}

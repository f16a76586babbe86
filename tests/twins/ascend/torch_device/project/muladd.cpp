// x * y + x, by tiles.
#include "kernel_operator.h"

using namespace AscendC;

constexpr uint32_t kTile = 256;

class MulAdd {
 public:
  __aicore__ inline MulAdd(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total) {
    length_ = total / GetBlockNum();
    const uint32_t first = length_ * GetBlockIdx();
    x_.SetGlobalBuffer((__gm__ half*)x + first, length_);
    y_.SetGlobalBuffer((__gm__ half*)y + first, length_);
    z_.SetGlobalBuffer((__gm__ half*)z + first, length_);
    pipe_.InitBuffer(xs_, 2, kTile * sizeof(half));
    pipe_.InitBuffer(ys_, 2, kTile * sizeof(half));
    pipe_.InitBuffer(zs_, 2, kTile * sizeof(half));
  }

  __aicore__ inline void Process() {
    for (uint32_t at = 0; at < length_; at += kTile) {
      LocalTensor<half> x = xs_.AllocTensor<half>(), y = ys_.AllocTensor<half>();
      DataCopy(x, x_[at], kTile);
      DataCopy(y, y_[at], kTile);
      xs_.EnQue(x);
      ys_.EnQue(y);
      x = xs_.DeQue<half>();
      y = ys_.DeQue<half>();
      LocalTensor<half> z = zs_.AllocTensor<half>();
      Mul(z, x, y, kTile);
      Add(z, z, x, kTile);
      zs_.EnQue(z);
      xs_.FreeTensor(x);
      ys_.FreeTensor(y);
      z = zs_.DeQue<half>();
      DataCopy(z_[at], z, kTile);
      zs_.FreeTensor(z);
    }
  }

 private:
  TPipe pipe_;
  TQue<QuePosition::VECIN, 2> xs_, ys_;
  TQue<QuePosition::VECOUT, 2> zs_;
  GlobalTensor<half> x_, y_, z_;
  uint32_t length_;
};

extern "C" __global__ __aicore__ void muladd(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total) {
  MulAdd(x, y, z, total).Process();
}

// z = x + y in tiles, started in the two ways that hosts have beside ICPU_RUN_KF.
#include "kernel_operator.h"

constexpr uint32_t kTile = 128;

class Adder {
 public:
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t length) {
    const uint32_t begin = AscendC::GetBlockIdx() * length;
    x_.SetGlobalBuffer((__gm__ half*)x + begin, length);
    y_.SetGlobalBuffer((__gm__ half*)y + begin, length);
    z_.SetGlobalBuffer((__gm__ half*)z + begin, length);
    tiles_ = length / kTile;
    pipe_.InitBuffer(in_x_, 2, kTile * sizeof(half));
    pipe_.InitBuffer(in_y_, 2, kTile * sizeof(half));
    pipe_.InitBuffer(out_, 2, kTile * sizeof(half));
  }

  __aicore__ inline void Process() {
    for (uint32_t tile = 0; tile < tiles_; ++tile) {
      Load(tile * kTile);
      Compute();
      Store(tile * kTile);
    }
  }

 private:
  __aicore__ inline void Load(uint32_t at) {
    AscendC::LocalTensor<half> x = in_x_.AllocTensor<half>();
    AscendC::LocalTensor<half> y = in_y_.AllocTensor<half>();
    AscendC::DataCopy(x, x_[at], kTile);
    AscendC::DataCopy(y, y_[at], kTile);
    in_x_.EnQue(x);
    in_y_.EnQue(y);
  }

  __aicore__ inline void Compute() {
    AscendC::LocalTensor<half> x = in_x_.DeQue<half>();
    AscendC::LocalTensor<half> y = in_y_.DeQue<half>();
    AscendC::LocalTensor<half> z = out_.AllocTensor<half>();
    z = x + y;
    out_.EnQue<half>(z);
    in_x_.FreeTensor(x);
    in_y_.FreeTensor(y);
  }

  __aicore__ inline void Store(uint32_t at) {
    AscendC::LocalTensor<half> z = out_.DeQue<half>();
    AscendC::DataCopy(z_[at], z, kTile);
    out_.FreeTensor(z);
  }

  AscendC::TPipe pipe_;
  AscendC::TQue<AscendC::QuePosition::VECIN, 2> in_x_, in_y_;
  AscendC::TQue<AscendC::TPosition::VECOUT, 2> out_;
  AscendC::GlobalTensor<half> x_, y_, z_;
  uint32_t tiles_;
};

extern "C" __global__ __aicore__ void add(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t length) {
  Adder op;
  op.Init(x, y, z, length);
  op.Process();
}

extern "C" void add_by_arrows(uint32_t blocks, void* stream, uint8_t* x, uint8_t* y, uint8_t* z, uint32_t length) {
  add<<<blocks, nullptr, stream>>>(x, y, z, length);
}

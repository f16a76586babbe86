// A header of Ascend C, which is rewritten as its source is.
#ifndef TESTS_ASCEND_KERNELS_H
#define TESTS_ASCEND_KERNELS_H

#include "kernel_operator.h"

using namespace AscendC;

struct ShiftTiling {
  uint32_t total;
  float by;
};

// Floats in tiles, which blocks take in turn.
class Tiles {
 public:
  __aicore__ inline explicit Tiles(uint32_t total) : total_(total) {
    pipe_.InitBuffer(in_, 2, kTile * sizeof(float));
    pipe_.InitBuffer(done_, 1, kTile * sizeof(float));
  }

  template <class Body>
  __aicore__ inline void for_each(Body body) {
    for (uint32_t begin = GetBlockIdx() * kTile; begin < total_; begin += GetBlockNum() * kTile) {
      body(begin, total_ - begin < kTile ? total_ - begin : kTile);
    }
  }

  __aicore__ inline LocalTensor<float> load(GM_ADDR address, uint32_t begin, uint32_t count) {
    auto tensor = in_.AllocTensor<float>();
    DataCopyPad(tensor, global(address)[begin], extent(count), DataCopyPadExtParams<float>{false, 0, 0, 0});
    in_.EnQue(tensor);
    return in_.DeQue<float>();
  }

  __aicore__ inline void release(LocalTensor<float>& tensor) { in_.FreeTensor(tensor); }

  __aicore__ inline void store(GM_ADDR address, LocalTensor<float>& values, uint32_t begin, uint32_t count) {
    auto tensor = done_.AllocTensor<float>();
    Adds(tensor, values, 0.0f, count);
    in_.FreeTensor(values);
    done_.EnQue(tensor);
    tensor = done_.DeQue<float>();
    DataCopyPad(global(address)[begin], tensor, extent(count));
    done_.FreeTensor(tensor);
  }

 private:
  static constexpr uint32_t kTile = 256;

  __aicore__ inline GlobalTensor<float> global(GM_ADDR address) {
    GlobalTensor<float> tensor;
    tensor.SetGlobalBuffer((__gm__ float*)address, total_);
    return tensor;
  }
  __aicore__ inline DataCopyExtParams extent(uint32_t count) {
    return {1, static_cast<uint32_t>(count * sizeof(float)), 0, 0, 0};
  }

  const uint32_t total_;
  TPipe pipe_;
  TQue<TPosition::VECIN, 2> in_;
  TQue<TPosition::VECOUT, 1> done_;
};

#endif

// Kernels whose matrix unit and vector cores run code of their own, and pass results through global memory.
#include "kernel_operator.h"
#include "tikicpulib.h"

using namespace AscendC;

constexpr uint32_t kSide = 16, kTile = kSide * kSide;
constexpr uint16_t kFull = 3, kEmpty = 4;

// A tile of a times the transpose of b's, into the workspace.
class Products {
 public:
  __aicore__ void Init(TPipe& pipe) {
    pipe.InitBuffer(a1_, 1, kTile * sizeof(half));
    pipe.InitBuffer(b1_, 1, kTile * sizeof(half));
    pipe.InitBuffer(a2_, 1, kTile * sizeof(half));
    pipe.InitBuffer(b2_, 1, kTile * sizeof(half));
    pipe.InitBuffer(co1_, 1, kTile * sizeof(float));
  }
  __aicore__ void Compute(GlobalTensor<half> a, GlobalTensor<half> b, GlobalTensor<float> to) {
    Load(a1_, a2_, a);
    Load(b1_, b2_, b);
    auto left = a2_.DeQue<half>(), right = b2_.DeQue<half>();
    auto sums = co1_.AllocTensor<float>();
    MmadParams params;
    params.m = params.n = params.k = kSide;
    Mmad(sums, left, right, params);
    co1_.EnQue(sums);
    a2_.FreeTensor(left);
    b2_.FreeTensor(right);
    sums = co1_.DeQue<float>();
    Fixpipe(to, sums, FixpipeParamsV220(kSide, kSide, kSide, kSide, false));
    co1_.FreeTensor(sums);
  }

 private:
  template <class L1, class L0>
  __aicore__ void Load(L1& l1, L0& l0, GlobalTensor<half> from) {
    auto tile = l1.template AllocTensor<half>();
    DataCopy(tile, from, Nd2NzParams(1, kSide, kSide, 0, kSide, kSide, 1, 0));
    l1.EnQue(tile);
    tile = l1.template DeQue<half>();
    auto fractal = l0.template AllocTensor<half>();
    LoadData(fractal, tile, LoadData2DParams(0, 1, 1, 0, 0, false, 0));
    l1.FreeTensor(tile);
    l0.EnQue(fractal);
  }

  TQue<TPosition::A1, 1> a1_;
  TQue<TPosition::B1, 1> b1_;
  TQue<TPosition::A2, 1> a2_;
  TQue<TPosition::B2, 1> b2_;
  TQue<TPosition::CO1, 1> co1_;
};

// The rows that this vector core takes of each tile, without what is below zero.
class Rectified {
 public:
  __aicore__ void Init(TPipe& pipe) {
    pipe.InitBuffer(in_, 1, kTile * sizeof(float));
    pipe.InitBuffer(out_, 1, kTile * sizeof(float));
  }
  __aicore__ void Compute(GlobalTensor<float> from, GlobalTensor<float> to, uint32_t count) {
    auto loaded = in_.AllocTensor<float>();
    DataCopy(loaded, from, count);
    in_.EnQue(loaded);
    loaded = in_.DeQue<float>();
    auto result = out_.AllocTensor<float>();
    Relu(result, loaded, count);
    in_.FreeTensor(loaded);
    out_.EnQue(result);
    result = out_.DeQue<float>();
    DataCopy(to, result, count);
    out_.FreeTensor(result);
  }

 private:
  TQue<TPosition::VECIN, 1> in_;
  TQue<TPosition::VECOUT, 1> out_;
};

// relu(a b^T) tile by tile; each block has one tile of workspace, which is empty at first.
__aicore__ inline void tiles(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR workspace, uint32_t count, bool waits) {
  GlobalTensor<half> left, right;
  GlobalTensor<float> products, to;
  const uint32_t block = GetBlockIdx() / GetSubBlockNum();
  left.SetGlobalBuffer((__gm__ half*)a + block * count * kTile, count * kTile);
  right.SetGlobalBuffer((__gm__ half*)b + block * count * kTile, count * kTile);
  to.SetGlobalBuffer((__gm__ float*)c + block * count * kTile, count * kTile);
  products.SetGlobalBuffer((__gm__ float*)workspace + block * kTile, kTile);
  TPipe pipe;
  if ASCEND_IS_AIC {
    Products unit;
    unit.Init(pipe);
    for (uint32_t tile = 0; tile < count; ++tile) {
      CrossCoreWaitFlag(kEmpty);
      unit.Compute(left[tile * kTile], right[tile * kTile], products);
      CrossCoreSetFlag<2, PIPE_FIX>(kFull);
    }
  }
  if ASCEND_IS_AIV {
    Rectified unit;
    unit.Init(pipe);
    const uint32_t part = kTile / GetSubBlockNum(), begin = GetSubBlockIdx() * part;
    for (uint32_t tile = 0; tile < count; ++tile) {
      CrossCoreSetFlag<2, PIPE_MTE2>(kEmpty);
      if (waits) CrossCoreWaitFlag(kFull);
      unit.Compute(products[begin], to[tile * kTile + begin], part);
    }
  }
}

#define TILES(name, type)                                                                                        \
  extern "C" __global__ __aicore__ void name(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR workspace, uint32_t count, \
                                             uint32_t waits) {                                                   \
    KERNEL_TASK_TYPE_DEFAULT(type);                                                                              \
    tiles(a, b, c, workspace, count, waits);                                                                     \
  }
TILES(with_two, KERNEL_TYPE_MIX_AIC_1_2)
TILES(with_one, KERNEL_TYPE_MIX_AIC_1_1)

// All matrix units write before any vector core reads, and the other way round.
extern "C" __global__ __aicore__ void met(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR workspace) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  GlobalTensor<half> left, right;
  GlobalTensor<float> products, to;
  left.SetGlobalBuffer((__gm__ half*)a, kTile);
  right.SetGlobalBuffer((__gm__ half*)b, kTile);
  products.SetGlobalBuffer((__gm__ float*)workspace, GetBlockNum() * kTile);
  to.SetGlobalBuffer((__gm__ float*)c, kTile);
  TPipe pipe;
  if ASCEND_IS_AIC {
    Products unit;
    unit.Init(pipe);
    unit.Compute(left, right, products[GetBlockIdx() * kTile]);
  }
  SyncAll<false>();
  if ASCEND_IS_AIV {
    if (GetBlockIdx() != 1) return;
    Rectified unit;
    unit.Init(pipe);
    unit.Compute(products[(GetBlockNum() - 1) * kTile], to, kTile);
  }
}

extern "C" __global__ __aicore__ void vector_for_all(GM_ADDR c) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  TPipe pipe;
  TBuf<TPosition::VECCALC> memory;
  pipe.InitBuffer(memory, 64);
  if (g_coreType == AIC) {
    auto all = memory.Get<float>();
    Duplicate(all, 1.0f, 16);
  }
}

// The matrix unit, step by step: a whole product in one turn, of matrices that fit into L0.
#include "tikicpulib.h"

using namespace AscendC;

constexpr uint32_t kSide = 16;

static uint32_t divided_up(uint32_t n, uint32_t by) { return (n + by - 1) / by; }
static uint32_t rounded_up(uint32_t n, uint32_t to) { return divided_up(n, to) * to; }

struct Shape {
  uint32_t m, n, k;
};

// b is [k, n], or [n, k] where it is given transposed.
template <class T, class Sum, class Out, bool b_transposed>
class Product {
 public:
  static constexpr uint32_t kWidth = 32 / sizeof(T);

  __aicore__ void Init(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, Shape shape) {
    shape_ = shape;
    rows_ = rounded_up(shape.m, kSide);
    depth_ = rounded_up(shape.k, kWidth > kSide ? kWidth : kSide);
    columns_ = rounded_up(shape.n, b_transposed || kWidth <= kSide ? kSide : kWidth);
    has_bias_ = bias != nullptr;
    a_.SetGlobalBuffer((__gm__ T*)a, shape.m * shape.k);
    b_.SetGlobalBuffer((__gm__ T*)b, shape.k * shape.n);
    bias_.SetGlobalBuffer((__gm__ Sum*)bias, columns_);
    c_.SetGlobalBuffer((__gm__ Out*)c, shape.m * shape.n);
    pipe_.InitBuffer(a1_, 1, rows_ * depth_ * sizeof(T));
    pipe_.InitBuffer(b1_, 1, depth_ * columns_ * sizeof(T));
    pipe_.InitBuffer(a2_, 1, rows_ * depth_ * sizeof(T));
    pipe_.InitBuffer(b2_, 1, depth_ * columns_ * sizeof(T));
    pipe_.InitBuffer(co1_, 1, rows_ * columns_ * sizeof(Sum));
    if (has_bias_) {
      pipe_.InitBuffer(c1_, 1, columns_ * sizeof(Sum));
      pipe_.InitBuffer(c2_, 1, columns_ * sizeof(Sum));
    }
  }

  __aicore__ void Process(QuantMode_t quantisation, float scale, bool relu, uint32_t times) {
    CopyIn();
    Split();
    Compute(times);
    CopyOut(quantisation, scale, relu);
  }

 private:
  __aicore__ void CopyIn() {
    auto a = a1_.template AllocTensor<T>();
    auto b = b1_.template AllocTensor<T>();
    const auto to_fractals = [](uint32_t rows, uint32_t columns, uint32_t rows_in_fractals) {
      return Nd2NzParams(1, rows, columns, 0, columns, rows_in_fractals, 1, 0);
    };
    if (shape_.m == 1) {
      DataCopy(a, a_, shape_.k);
    } else {
      DataCopy(a, a_, to_fractals(shape_.m, shape_.k, rows_));
    }
    if (b_transposed) {
      DataCopy(b, b_, to_fractals(shape_.n, shape_.k, columns_));
    } else {
      DataCopy(b, b_, to_fractals(shape_.k, shape_.n, depth_));
    }
    a1_.EnQue(a);
    b1_.EnQue(b);
    if (!has_bias_) return;
    auto bias = c1_.template AllocTensor<Sum>();
    DataCopy(bias, bias_, columns_);
    c1_.EnQue(bias);
  }

  __aicore__ void Split() {
    auto a1 = a1_.template DeQue<T>();
    auto b1 = b1_.template DeQue<T>();
    auto a2 = a2_.template AllocTensor<T>();
    auto b2 = b2_.template AllocTensor<T>();
    const uint32_t across = divided_up(shape_.k, kWidth), down = rows_ / kSide;
    // A single row stays as it is.
    if (shape_.m == 1) {
      LoadData2DParams load;
      load.repeatTimes = divided_up(shape_.k, kSide * kWidth);
      load.srcStride = 1;
      LoadData(a2, a1, load);
    }
    for (uint32_t row = 0; shape_.m > 1 && row < down; ++row) {
      LoadData2DParams load;
      load.startIndex = row;
      load.repeatTimes = across;
      load.srcStride = down;
      LoadData(a2[row * across * kSide * kWidth], a1, load);
    }
    if constexpr (b_transposed) {
      LoadData2DParams load;
      load.repeatTimes = across * (columns_ / kSide);
      load.srcStride = 1;
      LoadData(b2, b1, load);
    } else {
      // A square of elements in L1 is one in L0B too, transposed.
      const uint32_t wide = kWidth, squares = columns_ / wide, parts = wide / kSide;
      for (uint32_t k = 0; k < across; ++k) {
        LoadData2dTransposeParams load(k, squares, depth_ / wide, parts - 1, 0);
        LoadDataWithTranspose(b2[k * (columns_ / kSide) * kSide * wide], b1, load);
      }
    }
    a2_.EnQue(a2);
    b2_.EnQue(b2);
    a1_.FreeTensor(a1);
    b1_.FreeTensor(b1);
    if (!has_bias_) return;
    auto from = c1_.template DeQue<Sum>();
    auto to = c2_.template AllocTensor<Sum>();
    DataCopy(to, from, DataCopyParams{1, static_cast<uint16_t>(columns_ * sizeof(Sum) / 64), 0, 0});
    c2_.EnQue(to);
    c1_.FreeTensor(from);
  }

  __aicore__ void Compute(uint32_t times) {
    auto a2 = a2_.template DeQue<T>();
    auto b2 = b2_.template DeQue<T>();
    auto sums = co1_.template AllocTensor<Sum>();
    MmadParams params;
    params.m = shape_.m;
    params.n = b_transposed ? shape_.n : columns_;
    params.k = shape_.k;
    if (has_bias_) {
      auto bias = c2_.template DeQue<Sum>();
      Mmad(sums, a2, b2, bias, params);
      c2_.FreeTensor(bias);
    } else {
      Mmad(sums, a2, b2, params);
    }
    // Each turn adds the product again.
    params.cmatrixInitVal = false;
    for (uint32_t i = 1; i < times; ++i) Mmad(sums, a2, b2, params);
    co1_.EnQue(sums);
    a2_.FreeTensor(a2);
    b2_.FreeTensor(b2);
  }

  __aicore__ void CopyOut(QuantMode_t quantisation, float scale, bool relu) {
    auto sums = co1_.template DeQue<Sum>();
    FixpipeParamsV220 params(shape_.n, shape_.m, rows_, shape_.n, relu);
    params.quantPre = quantisation;
    uint32_t bits;
    memcpy(&bits, &scale, sizeof bits);
    params.deqScalar = bits;
    Fixpipe(c_, sums, params);
    co1_.FreeTensor(sums);
  }

  TPipe pipe_;
  TQue<TPosition::A1, 1> a1_;
  TQue<TPosition::B1, 1> b1_;
  TQue<TPosition::C1, 1> c1_;
  TQue<TPosition::A2, 1> a2_;
  TQue<TPosition::B2, 1> b2_;
  TQue<TPosition::C2, 1> c2_;
  TQue<TPosition::CO1, 1> co1_;
  GlobalTensor<T> a_, b_;
  GlobalTensor<Sum> bias_;
  GlobalTensor<Out> c_;
  Shape shape_;
  uint32_t rows_, depth_, columns_;
  bool has_bias_;
};

#define PRODUCT(name, T, Sum, Out, b_transposed, quantisation)                                                      \
  extern "C" __global__ __aicore__ void name(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, uint32_t m, uint32_t n, \
                                             uint32_t k, uint32_t times, float scale, bool relu) {                  \
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);                                                                 \
    Product<T, Sum, Out, b_transposed> product;                                                                     \
    product.Init(a, b, bias, c, {m, n, k});                                                                         \
    product.Process(quantisation, scale, relu, times);                                                              \
  }                                                                                                                 \
  extern "C" void run_##name(void* a, void* b, void* bias, void* c, uint32_t m, uint32_t n, uint32_t k,             \
                             uint32_t times, float scale, bool relu) {                                              \
    ICPU_RUN_KF(name, 1, (GM_ADDR)a, (GM_ADDR)b, (GM_ADDR)bias, (GM_ADDR)c, m, n, k, times, scale, relu);           \
  }

PRODUCT(half_float, half, float, float, false, NoQuant)
PRODUCT(half_half, half, float, half, false, F322F16)
PRODUCT(half_float_transposed, half, float, float, true, NoQuant)
PRODUCT(bfloat16_float, bfloat16_t, float, float, false, NoQuant)
PRODUCT(bfloat16_bfloat16, bfloat16_t, float, bfloat16_t, false, F322BF16)
PRODUCT(float_float_transposed, float, float, float, true, NoQuant)
PRODUCT(int8_int32, int8_t, int32_t, int32_t, false, NoQuant)
PRODUCT(int8_int32_transposed, int8_t, int32_t, int32_t, true, NoQuant)
PRODUCT(int8_half, int8_t, int32_t, half, false, DEQF16)

// From global memory to fractals in the unified buffer and back as they lie there, to look at the layout.
extern "C" __global__ __aicore__ void as_fractals(GM_ADDR x, GM_ADDR y, uint32_t rows, uint32_t columns,
                                                  uint32_t height, uint32_t bytes) {
  TPipe pipe;
  TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
  GlobalTensor<half> from, to;
  from.SetGlobalBuffer((__gm__ half*)x, rows * columns);
  to.SetGlobalBuffer((__gm__ half*)y);
  pipe.InitBuffer(queue, 1, bytes);
  auto tensor = queue.AllocTensor<half>();
  Duplicate(tensor, half(-1), bytes / sizeof(half));
  SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
  DataCopy(tensor, from, Nd2NzParams(1, rows, columns, 0, columns, height, 1, 0));
  queue.EnQue(tensor);
  auto filled = queue.DeQue<half>();
  DataCopy(to, filled, bytes / sizeof(half));
  queue.FreeTensor(filled);
}

// An image of 16 channels, convolved with 16 filters: both matrices come by way of windows, the right one of one pixel.
extern "C" __global__ __aicore__ void convolved(GM_ADDR x, GM_ADDR w, GM_ADDR y, uint32_t height, uint32_t width,
                                                uint32_t filter, uint32_t stride, uint32_t dilation, uint32_t pad) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  constexpr uint16_t kChannels = 16;
  const auto side = [=](uint32_t n) { return (n + 2 * pad - dilation * (filter - 1) - 1) / stride + 1; };
  const uint32_t m = side(height) * side(width), rows = rounded_up(m, kSide), k = kChannels * filter * filter;
  TPipe pipe;
  TBuf<TPosition::A1> image_, weights_;
  TBuf<TPosition::A2> left_;
  TBuf<TPosition::B2> right_;
  TBuf<TPosition::CO1> sums_;
  GlobalTensor<half> from, filters;
  GlobalTensor<float> to;
  from.SetGlobalBuffer((__gm__ half*)x, height * width * kChannels);
  filters.SetGlobalBuffer((__gm__ half*)w, k * kChannels);
  to.SetGlobalBuffer((__gm__ float*)y, m * kChannels);
  pipe.InitBuffer(image_, height * width * kChannels * 2);
  pipe.InitBuffer(weights_, k * kChannels * 2);
  pipe.InitBuffer(left_, rows * k * 2);
  pipe.InitBuffer(right_, k * kChannels * 2);
  pipe.InitBuffer(sums_, rows * kChannels * 4);
  auto image = image_.Get<half>(), weights = weights_.Get<half>(), left = left_.Get<half>(), right = right_.Get<half>();
  auto sums = sums_.Get<float>();
  DataCopy(image, from, height * width * kChannels);
  DataCopy(weights, filters, k * kChannels);
  PipeBarrier<PIPE_ALL>();
  LoadData3DParamsV2<half> windows({uint8_t(pad), uint8_t(pad), uint8_t(pad), uint8_t(pad)}, height, width, kChannels,
                                   k, rows, 0, 0, stride, stride, filter, filter, dilation, dilation, false, false, 0);
  LoadData(left, image, windows);
  LoadData3DParamsV2<half> plain;
  plain.l1H = 1;
  plain.l1W = plain.mExtension = k;
  plain.channelSize = plain.kExtension = kChannels;
  LoadData(right, weights, plain);
  PipeBarrier<PIPE_ALL>();
  Mmad(sums, left, right, MmadParams(m, kChannels, k, 0, false, true));
  PipeBarrier<PIPE_ALL>();
  Fixpipe(to, sums, FixpipeParamsV220(kChannels, m, rows, kChannels, false));
}
extern "C" void run_convolved(void* x, void* w, void* y, uint32_t height, uint32_t width, uint32_t filter,
                              uint32_t stride, uint32_t dilation, uint32_t pad) {
  ICPU_RUN_KF(convolved, 1, (GM_ADDR)x, (GM_ADDR)w, (GM_ADDR)y, height, width, filter, stride, dilation, pad);
}

// The fractals of the left matrix taken by columns, where the unit wants them by rows.
extern "C" __global__ __aicore__ void wrong_order(GM_ADDR a, GM_ADDR b, GM_ADDR c) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  constexpr uint32_t kSize = 32;
  TPipe pipe;
  TQue<TPosition::A1, 1> a1_, b1_;
  TQue<TPosition::A2, 1> a2_;
  TQue<TPosition::B2, 1> b2_;
  TQue<TPosition::CO1, 1> co1_;
  GlobalTensor<half> left, right;
  GlobalTensor<float> product;
  left.SetGlobalBuffer((__gm__ half*)a, kSize * kSize);
  right.SetGlobalBuffer((__gm__ half*)b, kSize * kSize);
  product.SetGlobalBuffer((__gm__ float*)c, kSize * kSize);
  pipe.InitBuffer(a1_, 1, kSize * kSize * 2);
  pipe.InitBuffer(b1_, 1, kSize * kSize * 2);
  pipe.InitBuffer(a2_, 1, kSize * kSize * 2);
  pipe.InitBuffer(b2_, 1, kSize * kSize * 2);
  pipe.InitBuffer(co1_, 1, kSize * kSize * 4);
  auto a1 = a1_.AllocTensor<half>(), b1 = b1_.AllocTensor<half>();
  const Nd2NzParams to_fractals(1, kSize, kSize, 0, kSize, kSize, 1, 0);
  DataCopy(a1, left, to_fractals);
  DataCopy(b1, right, to_fractals);
  a1_.EnQue(a1);
  b1_.EnQue(b1);
  a1 = a1_.DeQue<half>();
  b1 = b1_.DeQue<half>();
  auto a2 = a2_.AllocTensor<half>(), b2 = b2_.AllocTensor<half>();
  const LoadData2DParams all(0, 4, 1, 0, 0, false, 0);
  LoadData(a2, a1, all);
  for (uint32_t k = 0; k < 2; ++k) {
    LoadData(b2[k * 2 * 256], b1, LoadData2DParams(k, 2, 2, 0, 0, true, 0));
  }
  a2_.EnQue(a2);
  b2_.EnQue(b2);
  a2 = a2_.DeQue<half>();
  b2 = b2_.DeQue<half>();
  auto sums = co1_.AllocTensor<float>();
  Mmad(sums, a2, b2, MmadParams(kSize, kSize, kSize, 0, false, true));
  co1_.EnQue(sums);
  sums = co1_.DeQue<float>();
  Fixpipe(product, sums, FixpipeParamsV220(kSize, kSize, kSize, kSize, false));
  a1_.FreeTensor(a1);
  b1_.FreeTensor(b1);
  a2_.FreeTensor(a2);
  b2_.FreeTensor(b2);
  co1_.FreeTensor(sums);
}

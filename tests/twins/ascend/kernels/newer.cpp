// What kernels since CANN 8.3 use: tensors at addresses of their own, and forms of functions that came late.
#include "bench.h"

// z = x + y by static tensors, without TPipe.
extern "C" __global__ __aicore__ void by_addresses(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t second) {
  InitSocState();
  constexpr uint32_t n = 64;
  GlobalTensor<float> a, b, c;
  a.SetGlobalBuffer((__gm__ float*)x, n);
  b.SetGlobalBuffer((__gm__ float*)y, n);
  c.SetGlobalBuffer((__gm__ float*)z, n);
  LocalTensor<float> left(TPosition::VECIN, 0, n), right(TPosition::VECIN, second, n);
  LocalTensor<float> sum(TPosition::VECOUT, 2 * n * sizeof(float), n);
  DataCopy(left, a, n);
  DataCopy(right, b, n);
  SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  Add(sum, left, right, n);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(c, sum, n);
}

extern "C" __global__ __aicore__ void by_allocator(GM_ADDR x, GM_ADDR z, uint32_t waits, uint32_t n) {
  InitSocState();
  GlobalTensor<half> from, to;
  from.SetGlobalBuffer((__gm__ half*)x, 48);
  to.SetGlobalBuffer((__gm__ half*)z, 48);
  LocalMemAllocator<Hardware::UB> memory;
  auto first = memory.Alloc<half, 40>();
  auto given = memory.Alloc<TPosition::VECIN, half>(n);
  auto made = memory.Alloc<TPosition::VECOUT, half, 48>();
  if (memory.GetCurAddr() != 96 + (n * sizeof(half) + 31) / 32 * 32 + 96) return;
  Duplicate(first, half(0), 40);
  DataCopy(given, from, 48);
  if (waits) {
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  }
  Muls(made, given, half(2), 48);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID1);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID1);
  DataCopy(to, made, 48);
}

extern "C" __global__ __aicore__ void small_top_k(GM_ADDR x, GM_ADDR indices, GM_ADDR values, GM_ADDR places,
                                                  uint32_t rows, int32_t k) {
  GlobalTensor<float> from, largest;
  GlobalTensor<int32_t> given, found;
  from.SetGlobalBuffer((__gm__ float*)x, rows * 32);
  given.SetGlobalBuffer((__gm__ int32_t*)indices, rows * 32);
  largest.SetGlobalBuffer((__gm__ float*)values, rows * k);
  found.SetGlobalBuffer((__gm__ int32_t*)places, rows * k);
  TPipe pipe;
  TBuf<TPosition::VECCALC> a, b, c, d, e;
  pipe.InitBuffer(a, rows * 32 * 4);
  pipe.InitBuffer(b, rows * 32 * 4);
  pipe.InitBuffer(c, rows * k * 4);
  pipe.InitBuffer(d, rows * k * 4);
  pipe.InitBuffer(e, 32 * 1024);
  auto in = a.Get<float>();
  auto of = b.Get<int32_t>();
  auto top = c.Get<float>();
  auto where = d.Get<int32_t>();
  DataCopy(in, from, rows * 32);
  DataCopy(of, given, rows * 32);
  PipeBarrier<PIPE_ALL>();
  const TopKInfo info{int32_t(rows), 32, 30};
  TopK<float, true, false, false, TopKMode::TOPK_NSMALL>(top, where, in, of, LocalTensor<bool>(), e.Get<uint8_t>(), k,
                                                         TopkTiling{}, info, false);
  PipeBarrier<PIPE_ALL>();
  DataCopyPad(largest, top, {1, uint16_t(rows * k * 4), 0, 0});
  DataCopyPad(found, where, {1, uint16_t(rows * k * 4), 0, 0});
}

// A matrix of the unified buffer, its rows in fractals of L1, times another one.
extern "C" void product_of_vectors(const void* x, const void* y, void* z, bool pads) {
  once("Nd2NzParams", [=](Bench&) {
    GlobalTensor<half> left, right;
    GlobalTensor<float> product;
    left.SetGlobalBuffer((__gm__ half*)x, 256);
    right.SetGlobalBuffer((__gm__ half*)y, 256);
    product.SetGlobalBuffer((__gm__ float*)z, 256);
    LocalTensor<half> rows(TPosition::VECCALC, 0, 256), a1(TPosition::A1, 0, 256), b1(TPosition::B1, 512, 256);
    LocalTensor<half> a2(TPosition::A2, 0, 256), b2(TPosition::B2, 0, 256);
    LocalTensor<float> sums(TPosition::CO1, 0, 256);
    const Nd2NzParams fractals(1, 16, 16, 0, 16, 16, 1, 0);
    DataCopy(rows, left, 256);
    DataCopy(b1, right, fractals);
    PipeBarrier<PIPE_ALL>();
    if (pads) {
      DataCopyPad(a1, rows, DataCopyExtParams{16, 32, 0, 0, 0}, fractals);
    } else {
      DataCopy(a1, rows, fractals);
    }
    PipeBarrier<PIPE_ALL>();
    LoadData2dParams one;
    one.repeatTimes = 1;
    LoadData(a2, a1, one);
    one.ifTranspose = true;
    LoadData(b2, b1, one);
    PipeBarrier<PIPE_ALL>();
    Mmad(sums, a2, b2, MmadParams(16, 16, 16, 0, false, true));
    PipeBarrier<PIPE_ALL>();
    Fixpipe(product, sums, FixpipeParamsV220(16, 16, 16, 16, false));
  });
}

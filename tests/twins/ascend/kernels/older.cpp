// What kernels of 2023 and of chips before Atlas A2 use.
#include "bench.h"
#include "kernel_tpipe_impl.h"
#include "lib/matrix/matmul/matmul.h"

// Lists of 16 proposals, made of scores, sorted and merged; back come the scores, and the places they had.
extern "C" void merged_proposals(const void* x, uint32_t lists, void* scores, void* places) {
  once("MrgSort4", [=](Bench& bench) {
    const uint32_t n = lists * 16;
    auto a = bench.in<half>(x, n), place = bench.empty<half>(n), found = bench.empty<half>(n);
    auto made = bench.empty<half>(n * 8), sorted = bench.empty<half>(n * 8), merged = bench.empty<half>(n * 8);
    ArithProgression(place, half(0), half(1), n);
    Duplicate(made, half(0), n * 8);
    ProposalConcat(made, place, lists, 0);
    ProposalConcat(made, a, lists, 4);
    RpSort16(sorted, made, lists);
    const uint16_t lengths[] = {16, 16, 16, 16};
    const auto list = [&](uint32_t i) { return sorted[(i < lists ? i : 0) * 128]; };
    MrgSort4(merged, {list(0), list(1), list(2), list(3)},
             MrgSort4Info(lengths, false, uint16_t((1u << lists) - 1), 1));
    ProposalExtract(found, merged, lists, 4);
    ProposalExtract(place, merged, lists, 0);
    bench.out(scores, found, n);
    bench.out(places, place, n);
  });
}

extern "C" void channels_last(const void* x, void* z, void* back, uint32_t n, uint32_t c, uint32_t h, uint32_t w) {
  once("Transpose", [=](Bench& bench) {
    const uint32_t count = n * c * h * w;
    auto a = bench.in<float>(x, count), b = bench.empty<float>(count), d = bench.empty<float>(count);
    auto work = bench.empty<uint8_t>(1024);
    TransposeParamsExt params{uint16_t(n), uint16_t(c), uint16_t(h), uint16_t(w), TransposeType::TRANSPOSE_NCHW2NHWC};
    Transpose(b, a, work, params);
    params.transposeType = TransposeType::TRANSPOSE_NHWC2NCHW;
    Transpose(d, b, work, params);
    bench.out(z, b, count);
    bench.out(back, d, count);
  });
}

// The second half of `count` int4b_t, as numbers, and all of them copied.
extern "C" void half_bytes(const void* x, void* z, void* copied, uint32_t count) {
  once("int4b_t", [=](Bench& bench) {
    GlobalTensor<int4b_t> from, to;
    from.SetGlobalBuffer((__gm__ int4b_t*)x, count);
    to.SetGlobalBuffer((__gm__ int4b_t*)copied, count);
    ASSERT(from.GetSize() == count);
    auto a = bench.empty<int8_t>(count / 2).ReinterpretCast<int4b_t>();
    auto b = bench.empty<int8_t>(count / 4).ReinterpretCast<int4b_t>();
    auto numbers = bench.empty<half>(count / 2);
    DataCopy(a, from, DataCopyParams(1, uint16_t(count / 64)), DataCopyEnhancedParams());
    DataCopy(b, from[count / 2], count / 2);
    PipeBarrier<PIPE_ALL>();
    Cast(numbers, b, RoundMode::CAST_NONE, count / 2);
    DataCopy(to, a, count);
    bench.out(z, numbers, count / 2);
  });
}

// Constants, of which the compiler knows the bits.
constexpr half kLeast = -65504.0;
static_assert(kLeast.bits == 0xfbff && half(0.1f).bits == 0x2e66 && half(1e9f).bits == 0x7c00 && half(0.0f).bits == 0);
static_assert(half(-0.0f).bits == 0x8000 && half(6e-8f).bits == 1 && half(65520.0f).bits == 0x7c00);
static_assert(half(2049.0f).bits == 0x6800 && half(2051.0f).bits == 0x6802 && half(1.0f).bits == 0x3c00);
static_assert(bfloat16_t(3.14159274f).bits == 0x4049 && bfloat16_t(-1e38f).bits == 0xfe96);

// Names of 2023, which a kernel may add to.
namespace tik2 {
struct OfItsOwn {};
}  // namespace tik2
// As programs have them, beside the twin's.
constexpr int TWO = 2, var = 1;
constexpr MatmulConfig kShared = GetIBShareNormConfig(true);
using Row = matmul::MatmulType<AscendC::TPosition::GM, CubeFormat::VECTOR, float>;
static_assert(!kShared.doNorm && Row::format != CubeFormat::NZ);

// Each block doubles its part by a TBuf that is used like a queue, and stores a few bits.
extern "C" __global__ __aicore__ void by_old_names(GM_ADDR x, GM_ADDR bits) {
  tik2::GlobalTensor<half> all;
  all.SetGlobalBuffer((__gm__ half*)ParamOffset<half>(x, 64), 64);
  tik2::TBuf<tik2::TPosition::VECCALC> buffer;
  GetTPipePtr()->InitBuffer(buffer, 128);
  auto tensor = buffer.AllocTensor<half>();
  DataCopy(tensor, all, 64);
  PipeBarrier<PIPE_ALL>();
  Muls(tensor, tensor, half(TWO * var), 64);
  PipeBarrier<PIPE_ALL>();
  DataCopy(all, tensor, 64);
  buffer.FreeTensor(tensor);
  auto* const found = (__gm__ uint64_t*)bits;
  if (GetBlockIdx() == 0) {
    found[0] = sbitset0(7, 1);
    found[1] = sbitset1(8, 0);
    found[2] = bcnt1(7) * 100 + bcnt0(7);
    dcci(found, 0);
    dsb(DSB_DDR);
  }
}

// 32 int4b_t: half a block, and a load brings all of it.
extern "C" void half_a_block(const void* x, void* z) {
  once("int4b_t", [=](Bench& bench) {
    GlobalTensor<int4b_t> from;
    from.SetGlobalBuffer((__gm__ int4b_t*)x, 32);
    auto a = bench.empty<int8_t>(32).ReinterpretCast<int4b_t>();
    auto numbers = bench.empty<half>(32);
    DataCopy(a, from, 32);
    PipeBarrier<PIPE_ALL>();
    Cast(numbers, a, RoundMode::CAST_NONE, 32);
    bench.out(z, numbers, 32);
  });
}

// A fractal of the matrix unit's results, above zero, as halves in the unified buffer: for chips with CO2.
extern "C" void results_to_vector(const void* a, const void* b, void* z) {
  once("CO2", [=](Bench& bench) {
    TPipe pipe;
    TQue<TPosition::CO2, 1> results;
    TQue<TPosition::CO1, 1> sums;
    TQue<TPosition::A1, 2> whole;
    TQue<TPosition::A2, 1> left;
    TQue<TPosition::B2, 1> right;
    pipe.InitBuffer(results, 1, 512);
    pipe.InitBuffer(sums, 1, 1024);
    pipe.InitBuffer(whole, 2, 512);
    pipe.InitBuffer(left, 1, 512);
    pipe.InitBuffer(right, 1, 512);
    GlobalTensor<half> from;
    auto of_a = whole.AllocTensor<half>(), of_b = whole.AllocTensor<half>();
    from.SetGlobalBuffer((__gm__ half*)a, 256);
    DataCopy(of_a, from, 256);
    from.SetGlobalBuffer((__gm__ half*)b, 256);
    DataCopy(of_b, from, 256);
    whole.EnQue(of_a);
    whole.EnQue(of_b);
    of_a = whole.DeQue<half>();
    of_b = whole.DeQue<half>();
    auto l = left.AllocTensor<half>(), r = right.AllocTensor<half>();
    LoadData2dParams one;
    one.repeatTimes = 1;
    LoadData(l, of_a, one);
    one.ifTranspose = true;
    LoadData(r, of_b, one);
    left.EnQue(l);
    right.EnQue(r);
    l = left.DeQue<half>();
    r = right.DeQue<half>();
    auto c = sums.AllocTensor<float>();
    MmadParams sizes;
    sizes.m = sizes.n = sizes.k = 16;
    Mmad(c, l, r, sizes);
    sums.EnQue(c);
    c = sums.DeQue<float>();
    auto d = results.AllocTensor<half>();
    DataCopyEnhancedParams more;
    more.blockMode = BlockMode::BLOCK_MODE_MATRIX;
    more.isRelu = true;
    DataCopy(d, c, DataCopyParams(1, 1), more);
    results.EnQue(d);
    d = results.DeQue<half>();
    GlobalTensor<half> to;
    to.SetGlobalBuffer((__gm__ half*)z, 256);
    DataCopy(to, d, 256);
    results.FreeTensor(d);
    sums.FreeTensor(c);
    left.FreeTensor(l);
    right.FreeTensor(r);
    whole.FreeTensor(of_a);
    whole.FreeTensor(of_b);
  });
}

struct Numbers {
  uint32_t count;
  uint32_t parts[3];
};

extern "C" __global__ __aicore__ void members(GM_ADDR z, GM_ADDR tiling) {
  REGISTER_TILING_FOR_TILINGKEY("TILING_KEY_VAR == 1", Numbers);
  GET_TILING_DATA_MEMBER(Numbers, count, count, tiling);
  GET_TILING_DATA_WITH_STRUCT(Numbers, numbers, tiling);
  uint32_t parts[3];
  COPY_TILING_WITH_ARRAY(uint32_t, 3, numbers.parts, parts);
  Numbers copy;
  COPY_TILING_WITH_STRUCT(Numbers, &numbers, &copy);
  GlobalTensor<uint32_t> to;
  to.SetGlobalBuffer((__gm__ uint32_t*)z, 4);
  to.SetValue(0, count);
  to.SetValue(1, parts[2]);
  to.SetValue(2, copy.parts[1]);
  to.SetValue(3, GetDataBlockSizeInBytes());
}

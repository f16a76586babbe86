// Instructions by mask, repeats and strides: each of both types, and with both ways to write a mask.
#include "bench.h"

namespace {

// What Python passes: numbers of one size.
struct Arguments {
  uint32_t op, n, repeats, lanes;  // lanes: of a mask that is a number; 0: the two words below
  uint32_t dst_block, src0_block, src1_block, dst_repeat, src0_repeat, src1_repeat;
  uint32_t mode;
  uint64_t words[2];
};

template <class T, class Mask>
void by_mask(Bench& bench, const Arguments& p, const void* x, const void* y, void* z, Mask mask) {
  auto a = bench.in<T>(x, p.n), b = bench.in<T>(y, p.n), c = bench.in<T>(z, p.n);
  auto bits = b.template ReinterpretCast<uint8_t>();
  auto work = bench.empty<T>(1024);
  const auto repeats = uint8_t(p.repeats);
  const BinaryRepeatParams two{p.dst_block, p.src0_block, p.src1_block, p.dst_repeat, p.src0_repeat, p.src1_repeat};
  const UnaryRepeatParams one{p.dst_block, p.src0_block, p.dst_repeat, p.src0_repeat};
  const auto step = int32_t(p.src0_repeat);
  switch (p.op) {
    case 0:
      Add(c, a, b, mask, repeats, two);
      break;
    case 1:
      Axpy(c, a, T(2), mask, repeats, one);
      break;
    case 2:
      MulAddDst(c, a, b, mask, repeats, two);
      break;
    case 3:
      FusedMulAdd(c, a, b, mask, repeats, two);
      break;
    case 4:
      Select(c, bits, a, a, SELMODE(p.mode), mask, repeats, two);
      break;
    case 5:
      Select(c, bits, a, T(7), SELMODE::VSEL_TENSOR_SCALAR_MODE, mask, repeats, two);
      break;
    case 6:
      Compare(c.template ReinterpretCast<uint8_t>(), a, b, CMPMODE(p.mode), mask, repeats, two);
      break;
    case 7:
      CompareScalar(c.template ReinterpretCast<uint8_t>(), a, T(7), CMPMODE(p.mode), mask, repeats, one);
      break;
    case 8:
      ReduceSum(c, a, work, mask, p.repeats, step);
      break;
    case 9:
      ReduceMax(c, a, work, mask, p.repeats, step, true);
      break;
    case 10:
      ReduceMin(c, a, work, mask, p.repeats, step, true);
      break;
    case 11:
      WholeReduceSum(c, a, mask, p.repeats, p.dst_repeat, p.src0_block, step);
      break;
    case 12:
      WholeReduceMax(c, a, mask, p.repeats, p.dst_repeat, p.src0_block, step, ReduceOrder(p.mode));
      break;
    case 13:
      BlockReduceMin(c, a, p.repeats, mask, p.dst_repeat, p.src0_block, step);
      break;
    case 14:
      PairReduceSum(c, a, p.repeats, mask, p.dst_repeat, p.src0_block, step);
      break;
    case 15:
      CreateVecIndex(c, T(3), mask, repeats, p.dst_block, p.dst_repeat);
      break;
    case 16:
      Gather(c, a, bench.in<uint32_t>(y, p.n), 0, mask, repeats, p.dst_repeat);
      break;
    case 17:
      Scatter(c, a, bench.in<uint32_t>(y, p.n), 0, mask, repeats, p.src0_repeat);
      break;
    case 18:
      LeakyRelu(c, a, T(0.5f), mask, repeats, one);
      break;
    case 19:
      Duplicate(c, T(7), mask, repeats, p.dst_block, p.dst_repeat);
      break;
    default:
      break;
  }
  bench.out(z, c, p.n);
}

template <class T, class U, class Mask>
void cast_by_mask(Bench& bench, const Arguments& p, const void* x, void* z, Mask mask) {
  auto a = bench.in<T>(x, p.n);
  auto c = bench.in<U>(z, p.n);
  Cast(c, a, RoundMode(p.mode), mask, uint8_t(p.repeats), {p.dst_block, p.src0_block, p.dst_repeat, p.src0_repeat});
  bench.out(z, c, p.n);
}

template <class Body>
void with_mask(const char* name, const Arguments& p, Body body) {
  once(name, [&](Bench& bench) {
    if (p.lanes != 0) return body(bench, uint64_t(p.lanes));
    body(bench, p.words);
  });
}

}  // namespace

extern "C" void masked_half(const Arguments* p, const void* x, const void* y, void* z) {
  with_mask("masked", *p, [=](Bench& bench, auto mask) { by_mask<half>(bench, *p, x, y, z, mask); });
}
extern "C" void masked_float(const Arguments* p, const void* x, const void* y, void* z) {
  with_mask("masked", *p, [=](Bench& bench, auto mask) { by_mask<float>(bench, *p, x, y, z, mask); });
}
extern "C" void cast_half_float(const Arguments* p, const void* x, void* z) {
  with_mask("Cast", *p, [=](Bench& bench, auto mask) { cast_by_mask<half, float>(bench, *p, x, z, mask); });
}
extern "C" void cast_float_half(const Arguments* p, const void* x, void* z) {
  with_mask("Cast", *p, [=](Bench& bench, auto mask) { cast_by_mask<float, half>(bench, *p, x, z, mask); });
}
extern "C" void cast_int32_t_half(const Arguments* p, const void* x, void* z) {
  with_mask("Cast", *p, [=](Bench& bench, auto mask) {
    SetDeqScale(half(0.25f));
    cast_by_mask<int32_t, half>(bench, *p, x, z, mask);
  });
}

// The register of a comparison: found by Compare, kept by GetCmpMask, used by Select in each repeat.
extern "C" void by_register(const void* x, const void* y, void* kept, void* z, uint32_t n) {
  once("CMPMASK", [=](Bench& bench) {
    auto a = bench.in<float>(x, n), b = bench.in<float>(y, n), c = bench.empty<float>(n), d = bench.empty<float>(n);
    auto bits = bench.empty<uint8_t>(16);
    Compare(a, b, CMPMODE::LT, 64, {1, 1, 1, 8, 8, 8});
    GetCmpMask(bits);
    SetCmpMask(bits);
    Select<float, SELMODE::VSEL_CMPMASK_SPR>(c, a, b, uint8_t(n / 64), {1, 1, 1, 8, 8, 8});
    auto scalar = bench.empty<float>(8);
    Duplicate(scalar, 7.0f, 8);
    SetCmpMask(scalar);
    auto smaller = bench.empty<uint8_t>(n / 8);
    smaller = a < b;
    Select(d, smaller, a, uint8_t(n / 64), {1, 1, 1, 8, 8, 8});
    bench.out(kept, bits, 16);
    bench.out(z, c, n);
    bench.out((uint8_t*)z + n * 4, d, n);
  });
}

#define COMPARISON(mark, at) \
  bits = a mark b;           \
  bench.out((uint8_t*)z + at * n / 8, bits, n / 8)

extern "C" void compared_by_operators(const void* x, const void* y, void* z, uint32_t n) {
  once("operators", [=](Bench& bench) {
    auto a = bench.in<half>(x, n), b = bench.in<half>(y, n);
    auto bits = bench.empty<uint8_t>(n / 8);
    COMPARISON(<, 0);
    PipeBarrier<PIPE_ALL>();
    COMPARISON(>, 1);
    PipeBarrier<PIPE_ALL>();
    COMPARISON(==, 2);
    PipeBarrier<PIPE_ALL>();
    COMPARISON(<=, 3);
    PipeBarrier<PIPE_ALL>();
    COMPARISON(>=, 4);
    PipeBarrier<PIPE_ALL>();
    COMPARISON(!=, 5);
  });
}

extern "C" void blocks_by_offsets(const void* x, const void* offsets, void* z, uint32_t repeats) {
  once("Gatherb", [=](Bench& bench) {
    auto a = bench.in<half>(x, 256), c = bench.empty<half>(repeats * 128);
    Gatherb(c, a, bench.in<uint32_t>(offsets, repeats * 8), uint8_t(repeats), {1, 8});
    bench.out(z, c, repeats * 128);
  });
}

extern "C" void select_by_bytes(const void* x, const void* mask, void* z, uint32_t rows, uint32_t second) {
  once("SelectWithBytesMask", [=](Bench& bench) {
    auto a = bench.in<half>(x, rows * 16), c = bench.empty<half>(rows * 16);
    auto bytes = bench.in<uint8_t>(mask, rows * 32), scratch = bench.empty<uint8_t>(256);
    const SelectWithBytesMaskShapeInfo shape{rows, 16, 32};
    if (second != 0) SelectWithBytesMask(c, 7, a, bytes, scratch, shape);
    if (second == 0) SelectWithBytesMask(c, a, 7, bytes, scratch, shape);
    bench.out(z, c, rows * 16);
  });
}

// Too little room for what the repeats come to.
extern "C" void little_work(uint32_t repeats, uint32_t room, uint32_t with_index) {
  once("ReduceMax", [=](Bench& bench) {
    auto a = bench.empty<float>(repeats * 64), c = bench.empty<float>(8), work = bench.empty<float>(room);
    Duplicate(a, 1.0f, repeats * 64);
    ReduceMax(c, a, work, 64, repeats, 8, with_index != 0);
  });
}

// By a pattern or by a tensor of bits; of whole repeats, or of so many elements of each.
template <class T, class U>
void pack(const Arguments& p, const void* x, const void* bits, void* z, uint64_t* kept) {
  once("GatherMask", [&](Bench& bench) {
    auto a = bench.in<T>(x, p.n), c = bench.in<T>(z, p.n);
    auto chosen = bench.in<U>(bits, p.n);
    const GatherMaskParams params{p.src0_block, p.repeats, p.src0_repeat, p.src1_repeat};
    if (p.mode != 0) GatherMask(c, a, uint8_t(p.mode), p.op != 0, p.lanes, params, *kept);
    if (p.mode == 0) GatherMask(c, a, chosen, p.op != 0, p.lanes, params, *kept);
    bench.out(z, c, p.n);
  });
}
extern "C" void pack_half(const Arguments* p, const void* x, const void* bits, void* z, uint64_t* kept) {
  pack<half, uint16_t>(*p, x, bits, z, kept);
}
extern "C" void pack_float(const Arguments* p, const void* x, const void* bits, void* z, uint64_t* kept) {
  pack<float, uint32_t>(*p, x, bits, z, kept);
}

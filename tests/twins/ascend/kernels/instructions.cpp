// One function for each instruction: operands go into local memory, the instruction runs once, its result comes back.
#include "bench.h"
#include "kernel_tiling/kernel_tiling.h"

// By count where `lanes` is 0, else that many lanes of each repeat, and dst as it was in the others.
#define BINARY(Name, T)                                                                                   \
  extern "C" void Name##_##T(const void* x, const void* y, void* z, uint32_t n, uint64_t lanes) {         \
    once(#Name, [=](Bench& bench) {                                                                       \
      auto a = bench.in<T>(x, n), b = bench.in<T>(y, n), c = bench.in<T>(z, n);                           \
      if (lanes == 0) Name(c, a, b, n);                                                                   \
      if (lanes != 0) Name(c, a, b, lanes, uint8_t(n / kLanes<T>), BinaryRepeatParams(1, 1, 1, 8, 8, 8)); \
      bench.out(z, c, n);                                                                                 \
    });                                                                                                   \
  }
#define UNARY(Name, T)                                             \
  extern "C" void Name##_##T(const void* x, void* z, uint32_t n) { \
    once(#Name, [=](Bench& bench) {                                \
      auto a = bench.in<T>(x, n), c = bench.empty<T>(n);           \
      Name(c, a, n);                                               \
      bench.out(z, c, n);                                          \
    });                                                            \
  }
#define SCALAR(Name, T)                                                      \
  extern "C" void Name##_##T(const void* x, void* z, uint32_t n, T scalar) { \
    once(#Name, [=](Bench& bench) {                                          \
      auto a = bench.in<T>(x, n), c = bench.empty<T>(n);                     \
      Name(c, a, scalar, n);                                                 \
      bench.out(z, c, n);                                                    \
    });                                                                      \
  }
#define ALL_TYPES(Kind, Name) Kind(Name, half) Kind(Name, float) Kind(Name, int32_t)

ALL_TYPES(BINARY, Add)
ALL_TYPES(BINARY, Sub)
ALL_TYPES(BINARY, Mul)
ALL_TYPES(BINARY, Max)
ALL_TYPES(BINARY, Min)
BINARY(Div, half)
BINARY(Div, float)
BINARY(And, int16_t)
BINARY(Or, int16_t)
BINARY(And, int8_t)
BINARY(Or, int8_t)
UNARY(Abs, half)
UNARY(Abs, float)
UNARY(Exp, float)
UNARY(Ln, float)
UNARY(Sqrt, float)
UNARY(Rsqrt, float)
UNARY(Reciprocal, float)
UNARY(Relu, float)
UNARY(Not, int16_t)
SCALAR(Adds, int32_t)
SCALAR(Muls, int32_t)
SCALAR(Maxs, int32_t)
SCALAR(Mins, int32_t)
SCALAR(ShiftLeft, int32_t)
SCALAR(ShiftRight, int32_t)

#define CAST(From, To)                                                               \
  extern "C" void Cast_##From##_##To(const void* x, void* z, uint32_t n, int mode) { \
    once("Cast", [=](Bench& bench) {                                                 \
      auto a = bench.in<From>(x, n);                                                 \
      auto c = bench.empty<To>(n);                                                   \
      Cast(c, a, RoundMode(mode), n);                                                \
      bench.out(z, c, n);                                                            \
    });                                                                              \
  }
CAST(float, half)
CAST(float, bfloat16_t)
CAST(float, float)
CAST(float, int32_t)
CAST(float, int16_t)
CAST(half, float)
CAST(half, int8_t)
CAST(int32_t, float)
CAST(int32_t, int16_t)
CAST(int64_t, float)

extern "C" void compare(const void* x, const void* y, void* bits, uint32_t n, int mode) {
  once("Compare", [=](Bench& bench) {
    auto a = bench.in<float>(x, n), b = bench.in<float>(y, n);
    auto c = bench.empty<uint8_t>(n / 8);
    Compare(c, a, b, CMPMODE(mode), n);
    bench.out(bits, c, n / 8);
  });
}

extern "C" void compare_scalar(const void* x, float scalar, void* bits, uint32_t n, int mode) {
  once("CompareScalar", [=](Bench& bench) {
    auto a = bench.in<float>(x, n);
    auto c = bench.empty<uint8_t>(n / 8);
    CompareScalar(c, a, scalar, CMPMODE(mode), n);
    bench.out(bits, c, n / 8);
  });
}

extern "C" void select_one(const void* bits, const void* x, const void* y, void* z, uint32_t n, int mode) {
  once("Select", [=](Bench& bench) {
    auto a = bench.in<float>(x, n), b = bench.in<float>(y, n), c = bench.empty<float>(n);
    auto chosen = bench.in<uint8_t>(bits, n / 8);
    if (SELMODE(mode) == SELMODE::VSEL_TENSOR_SCALAR_MODE) {
      Select(c, chosen, a, 7.0f, SELMODE(mode), n);
    } else {
      Select(c, chosen, a, b, SELMODE(mode), n);
    }
    bench.out(z, c, n);
  });
}

// Sum, maximum and its index, minimum and its index.
extern "C" void reduce(const void* x, void* z, uint32_t n) {
  once("Reduce", [=](Bench& bench) {
    auto a = bench.in<float>(x, n), work = bench.empty<float>(24), c = bench.empty<float>(24);
    ReduceSum<float, true>(c, a, work, n);
    ReduceMax<float>(c[8], a, work, n, true);
    ReduceMin(c[16], a, work, n, true);
    bench.out(z, c, 1);
    bench.out((uint8_t*)z + 4, c[8], 2);
    bench.out((uint8_t*)z + 12, c[16], 2);
  });
}

extern "C" void sum_of_halves(const void* x, void* z, uint32_t n) {
  once("ReduceSum", [=](Bench& bench) {
    auto a = bench.in<half>(x, n), work = bench.empty<half>(n), c = bench.empty<half>(16);
    ReduceSum(c, a, work, n);
    bench.out(z, c, 1);
  });
}

// Each repeat to a sum, a maximum with its index, and 8 block sums; all of it to pairs.
extern "C" void reduce_parts(const void* x, uint32_t repeats, uint32_t lanes, void* sums, void* maxima, void* blocks,
                             void* pairs) {
  once("reduce_parts", [=](Bench& bench) {
    const uint32_t n = repeats * 64;
    auto a = bench.in<float>(x, n);
    auto s = bench.empty<float>(repeats), m = bench.empty<float>(2 * repeats), b = bench.empty<float>(8 * repeats),
         p = bench.empty<float>(n / 2);
    WholeReduceSum(s, a, lanes, repeats, 1, 1, 8);
    WholeReduceMax(m, a, lanes, repeats, 1, 1, 8);
    BlockReduceSum(b, a, repeats, 64, 1, 1, 8);
    PairReduceSum(p, a, repeats, 64, 1, 1, 8);
    bench.out(sums, s, repeats);
    bench.out(maxima, m, 2 * repeats);
    bench.out(blocks, b, 8 * repeats);
    bench.out(pairs, p, n / 2);
  });
}

extern "C" void gather(const void* x, const void* offsets, void* z, uint32_t n) {
  once("Gather", [=](Bench& bench) {
    auto a = bench.in<float>(x, n), c = bench.empty<float>(n);
    auto at = bench.in<uint32_t>(offsets, n);
    Gather(c, a, at, 0, n);
    bench.out(z, c, n);
  });
}

extern "C" void scatter(const void* x, const void* offsets, void* z, uint32_t n) {
  once("Scatter", [=](Bench& bench) {
    auto a = bench.in<float>(x, n), c = bench.empty<float>(n);
    auto at = bench.in<uint32_t>(offsets, n);
    Scatter(c, a, at, 0, n);
    bench.out(z, c, n);
  });
}

extern "C" void gather_mask(const void* x, void* z, uint32_t n, int pattern, uint64_t* kept) {
  once("GatherMask", [=](Bench& bench) {
    auto a = bench.in<float>(x, n), c = bench.empty<float>(n);
    GatherMask<float>(c, a, uint8_t(pattern), true, n, GatherMaskParams(1, 1, 8, 0), *kept);
    bench.out(z, c, uint32_t(*kept));
  });
}

extern "C" void brcb(const void* x, void* z) {
  once("Brcb", [=](Bench& bench) {
    auto a = bench.in<float>(x, 16), c = bench.empty<float>(128);
    Brcb(c, a, 2, {1, 8});
    bench.out(z, c, 128);
  });
}

// z += x and z = max(z, x), by all blocks at once.
extern "C" void add_atomically(const void* x, void* z, uint32_t n, uint32_t blocks) {
  opbridge_ascend::launch("SetAtomicAdd", blocks, [=] {
    Bench bench;
    auto a = bench.in<float>(x, n);
    SetAtomicAdd<float>();
    bench.out(z, a, n);
    SetAtomicNone();
  });
}

// Rows of 5 floats, one of padding before each and 3 zeros behind, as one tensor.
extern "C" void pad_rows(const void* x, void* z, uint32_t rows) {
  once("DataCopyPad", [=](Bench& bench) {
    auto c = bench.empty<float>(rows * 16);
    GlobalTensor<float> from;
    from.SetGlobalBuffer((__gm__ float*)x, rows * 5);
    DataCopyPad(c, from, DataCopyExtParams(uint16_t(rows), 20, 0, 0, 0),
                DataCopyPadExtParams<float>(true, 1, 2, -1.0f));
    bench.out(z, c, rows * 8);
  });
}

// Rows of 5 floats with no padding but what fills the last block of each.
extern "C" void fill_rows(const void* x, void* z, uint32_t rows, bool is_pad) {
  once("DataCopyPad", [=](Bench& bench) {
    auto c = bench.empty<float>(rows * 8);
    GlobalTensor<float> from;
    from.SetGlobalBuffer((__gm__ float*)x, rows * 5);
    DataCopyPad(c, from, DataCopyExtParams(rows, 20, 0, 0, 0), DataCopyPadExtParams<float>(is_pad, 0, 0, -1.0f));
    bench.out(z, c, rows * 8);
  });
}

// Whole repeats, and then the lanes that are left over: there may be none.
extern "C" void copied_in_two(const void* x, void* z, uint32_t count) {
  once("Copy", [=](Bench& bench) {
    auto a = bench.in<half>(x, count), b = bench.empty<half>(count + 128);
    const uint32_t whole = count / 128, rest = count % 128;
    Copy(b, a, 128, whole, {1, 1, 8, 8});
    Copy(b[whole * 128], a[whole * 128], rest, 1, {1, 1, 8, 8});
    bench.out(z, b, count);
  });
}

struct Tiling {
  uint32_t count;
  float scale;
};
REGISTER_TILING_DEFAULT(Tiling);

extern "C" __global__ __aicore__ void scaled(GM_ADDR x, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GET_TILING_DATA(data, tiling);
  Bench bench;
  auto a = bench.in<float>(x, data.count);
  if (TILING_KEY_IS(1)) Muls(a, a, data.scale, data.count);
  if (TILING_KEY_IS(2)) Adds(a, a, data.scale, data.count);
  bench.out(z, a, data.count);
}

extern "C" void scaled_by_key(void* x, void* z, Tiling* tiling, uint64_t key) {
  ICPU_SET_TILING_KEY(key);
  ICPU_RUN_KF(scaled, 1, (GM_ADDR)x, (GM_ADDR)z, nullptr, (GM_ADDR)tiling);
}

BEGIN_TILING_DATA_DEF(HostTiling)
TILING_DATA_FIELD_DEF(uint32_t, count);
TILING_DATA_FIELD_DEF(float, scale);
END_TILING_DATA_DEF;

extern "C" __global__ __aicore__ void scaled_by_struct(GM_ADDR x, GM_ADDR z, GM_ADDR tiling) {
  GET_TILING_DATA_WITH_STRUCT(HostTiling, data, tiling);
  Bench bench;
  auto a = bench.in<float>(x, data.count);
  Muls(a, a, data.scale, data.count);
  bench.out(z, a, data.count);
}

extern "C" void scaled_by_host(void* x, void* z, uint32_t count, float scale) {
  HostTiling tiling;
  tiling.set_count(count);
  tiling.set_scale(scale);
  scaled_by_struct<<<1, nullptr, nullptr>>>((GM_ADDR)x, (GM_ADDR)z, (GM_ADDR)&tiling);
}

// 300 elements by the counter, then every other lane of two repeats by a mask that is set outside.
extern "C" void masks_from_outside(const void* x, void* counted, void* masked) {
  once("SetVectorMask", [=](Bench& bench) {
    auto a = bench.in<float>(x, 320), c = bench.in<float>(x, 320), d = bench.in<float>(x, 128);
    SetMaskCount();
    SetVectorMask<float, MaskMode::COUNTER>(300);
    Adds<float, false>(c, a, 1.0f, MASK_PLACEHOLDER, 1, {1, 1, 8, 8});
    set_mask_norm();
    set_vector_mask(0, 0x5555555555555555);
    Adds<float, false>(d, a, 1.0f, MASK_PLACEHOLDER, 2, {1, 1, 8, 8});
    ResetMask();
    bench.out(counted, c, 320);
    bench.out(masked, d, 128);
  });
}

// Blocks of 32 bytes: each second one is read, and written behind the one before.
extern "C" void packed_blocks(const void* x, void* z) {
  once("Copy", [=](Bench& bench) {
    auto a = bench.in<half>(x, 256), c = bench.empty<half>(128);
    Copy(c, a, 128, 1, CopyRepeatParams(1, 2, DEFAULT_REPEAT_STRIDE, DEFAULT_REPEAT_STRIDE));
    bench.out(z, c, 128);
  });
}

extern "C" void fused(const void* x, const void* y, void* z, uint32_t n) {
  once("MulAddDst", [=](Bench& bench) {
    auto a = bench.in<float>(x, n), b = bench.in<float>(y, n), c = bench.in<float>(z, n);
    MulAddDst(c, a, b, n);
    Axpy(c, a, 2.0f, n);
    LeakyRelu(c, c, 0.5f, n);
    bench.out(z, c, n);
  });
}

extern "C" void largest_atomically(const void* x, void* z, uint32_t n) {
  once("SetAtomicMax", [=](Bench& bench) {
    auto a = bench.in<int32_t>(x, n);
    SetAtomicMax<int32_t>();
    bench.out(z, a, n);
    SetAtomicNone();
  });
}

// The same piece again and again, over a tensor of more than the nearer caches hold.
extern "C" void tiled(const void* x, void* z, uint32_t n, uint32_t piece) {
  once("DataCopy", [=](Bench& bench) {
    auto a = bench.empty<int32_t>(piece);
    GlobalTensor<int32_t> from, to;
    from.SetGlobalBuffer((__gm__ int32_t*)x, piece);
    DataCopy(a, from, piece);
    PipeBarrier<PIPE_ALL>();
    to.SetGlobalBuffer((__gm__ int32_t*)z, n);
    for (uint32_t at = 0; at + piece <= n; at += piece) DataCopy(to[at], a, piece);
  });
}

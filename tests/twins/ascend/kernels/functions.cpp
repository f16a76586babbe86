// The high-level functions: of elements, of rows, of matrices, and sorting.
#include "bench.h"
#include "kernel_tiling/kernel_tiling.h"

namespace {

constexpr uint32_t kScratch = 1024;

// The four forms of a function of one tensor.
#define OF_ONE(Name)                           \
  if (name == #Name) {                         \
    if (form == 0) return Name(c, a);          \
    if (form == 1) return Name(c, a, n);       \
    if (form == 2) return Name(c, a, scratch); \
    return Name(c, a, scratch, n);             \
  }
#define WITH_COUNT(Name)                     \
  if (name == #Name) {                       \
    if (form % 2 == 0) return Name(c, a, n); \
    return Name(c, a, scratch, n);           \
  }
#define OF_TWO(Name)                              \
  if (name == #Name) {                            \
    if (form == 0) return Name(c, a, b);          \
    if (form == 1) return Name(c, a, b, n);       \
    if (form == 2) return Name(c, a, b, scratch); \
    return Name(c, a, b, scratch, n);             \
  }

struct Name {
  const char* text;
  bool operator==(const char* other) const { return strcmp(text, other) == 0; }
};

template <class T>
void of_one(Name name, uint32_t form, LocalTensor<T> c, LocalTensor<T> a, LocalTensor<uint8_t> scratch, uint32_t n) {
  OF_ONE(Sin) OF_ONE(Cos) OF_ONE(Tan) OF_ONE(Asin) OF_ONE(Acos) OF_ONE(Atan) OF_ONE(Sinh) OF_ONE(Cosh) OF_ONE(Tanh)
                  OF_ONE(Asinh) OF_ONE(Acosh) OF_ONE(Atanh) OF_ONE(Erf) OF_ONE(Erfc) OF_ONE(Lgamma) OF_ONE(Log)
                      OF_ONE(Log2) OF_ONE(Log10) OF_ONE(Floor) OF_ONE(Ceil) OF_ONE(Trunc) OF_ONE(Round) OF_ONE(Frac)
                          OF_ONE(Sign) OF_ONE(Sigmoid) WITH_COUNT(Gelu) WITH_COUNT(FasterGelu) WITH_COUNT(FasterGeluV2)
                              WITH_COUNT(Silu) if (name == "Exp") return form %
              2 ==
          0
      ? Exp<T, 10>(c, a, n)
      : Exp<T, 10>(c, a, scratch, n);
  if (name == "Swish") return Swish(c, a, n, T(2));
  if (name == "ClampMax") return form % 2 == 0 ? ClampMax(c, a, T(1), n) : ClampMax(c, a, scratch, T(1), n);
  if (name == "ClampMin") return form % 2 == 0 ? ClampMin(c, a, T(1), n) : ClampMin(c, a, scratch, T(1), n);
}

template <class T>
void of_two(Name name, uint32_t form, LocalTensor<T> c, LocalTensor<T> a, LocalTensor<T> b,
            LocalTensor<uint8_t> scratch, uint32_t n) {
  if constexpr (std::is_same<T, int16_t>::value) {
    OF_TWO(Xor)
  } else {
    OF_TWO(Power)
    if (name == "PowerOfScalar") return Power(c, T(2), b, scratch, n);
    if (name == "PowerToScalar") return Power(c, a, T(2), n);
    if constexpr (!std::is_same<T, int32_t>::value) {
      OF_TWO(Fmod) OF_TWO(GeGLU) OF_TWO(ReGlu) if (name == "SwiGLU") {
        if (form == 0) return SwiGLU(c, a, b, 2.0f);
        if (form == 1) return SwiGLU(c, a, b, 2.0f, n);
        if (form == 2) return SwiGLU(c, a, b, 2.0f, scratch);
        return SwiGLU(c, a, b, 2.0f, scratch, n);
      }
    }
  }
}

}  // namespace

#define FUNCTIONS(T)                                                                             \
  extern "C" void one_##T(const char* name, uint32_t form, const void* x, void* z, uint32_t n) { \
    once(name, [=](Bench& bench) {                                                               \
      auto a = bench.in<T>(x, n), c = bench.empty<T>(n);                                         \
      of_one<T>({name}, form, c, a, bench.empty<uint8_t>(kScratch), n);                          \
      bench.out(z, c, n);                                                                        \
    });                                                                                          \
  }
FUNCTIONS(half)
FUNCTIONS(float)
#define FUNCTIONS_OF_TWO(T)                                                                                     \
  extern "C" void two_##T(const char* name, uint32_t form, const void* x, const void* y, void* z, uint32_t n) { \
    once(name, [=](Bench& bench) {                                                                              \
      auto a = bench.in<T>(x, n), b = bench.in<T>(y, n), c = bench.empty<T>(n);                                 \
      of_two<T>({name}, form, c, a, b, bench.empty<uint8_t>(kScratch), n);                                      \
      bench.out(z, c, n);                                                                                       \
    });                                                                                                         \
  }
FUNCTIONS_OF_TWO(half)
FUNCTIONS_OF_TWO(float)
FUNCTIONS_OF_TWO(int32_t)
FUNCTIONS_OF_TWO(int16_t)

// [rows, step] of which `columns` count: sums and means of rows, and all that a pattern gives of both axes.
extern "C" void rows(const void* x, uint32_t count, uint32_t step, uint32_t columns, void* sums, void* means) {
  once("rows", [=](Bench& bench) {
    auto a = bench.in<half>(x, count * step), s = bench.empty<half>(count), m = bench.empty<half>(count);
    Sum(s, a, bench.empty<uint8_t>(kScratch), {count, step, columns});
    Mean<half, float>(m, a, MeanParams{count, step, columns});
    bench.out(sums, s, count);
    bench.out(means, m, count);
  });
}

template <class pattern>
void by_pattern(Bench& bench, uint32_t which, LocalTensor<float> c, LocalTensor<float> a, const uint32_t shape[]) {
  auto scratch = bench.empty<uint8_t>(kScratch);
  switch (which) {
    case 0:
      return ReduceSum<float, pattern>(c, a, scratch, shape, true);
    case 1:
      return ReduceMean<float, pattern>(c, a, scratch, shape, true);
    case 2:
      return ReduceProd<float, pattern>(c, a, shape, true);
    case 3:
      return ReduceMax<float, pattern>(c, a, scratch, shape, true);
    case 4:
      return ReduceMin<float, pattern>(c, a, shape, true);
    case 5:
      return ReduceAny<float, pattern>(c, a, shape, true);
    default:
      return ReduceAll<float, pattern>(c, a, shape, true);
  }
}
extern "C" void patterns(uint32_t which, uint32_t of_rows, const void* x, uint32_t count, uint32_t columns, void* z) {
  once("patterns", [=](Bench& bench) {
    const uint32_t shape[] = {count, columns}, step = (columns + 7) / 8 * 8, n = of_rows != 0 ? count : columns;
    auto a = bench.in<float>(x, count * step), c = bench.empty<float>(n);
    if (of_rows != 0) by_pattern<Pattern::Reduce::AR>(bench, which, c, a, shape);
    if (of_rows == 0) by_pattern<Pattern::Reduce::RA>(bench, which, c, a, shape);
    bench.out(z, c, n);
  });
}

// Sums and maxima come as floats, in blocks of a row.
template <class T>
void softmax(Bench& bench, const void* x, uint32_t m, uint32_t k, uint32_t columns, void* z, void* sums, void* maxima) {
  SoftMaxTiling tiling;
  tiling.srcM = m;
  tiling.srcK = k;
  const SoftMaxShapeInfo shape{m, k, m, columns};
  auto a = bench.in<T>(x, m * k), c = bench.in<T>(z, m * k), plain = bench.in<T>(z, m * k), d = bench.in<T>(z, m * k);
  auto sum = bench.empty<float>(m * 8), max = bench.empty<float>(m * 8);
  auto scratch = bench.empty<uint8_t>(kScratch);
  SoftMax<T>(c, sum, max, a, scratch, tiling, shape);
  SoftMax(plain, a, tiling, shape);
  SimpleSoftMax<T>(d, sum, max, a, tiling, shape);
  bench.out(z, c, m * k);
  bench.out((uint8_t*)z + m * k * sizeof(T), plain, m * k);
  bench.out((uint8_t*)z + 2 * m * k * sizeof(T), d, m * k);
  bench.out(sums, sum, m * 8);
  bench.out(maxima, max, m * 8);
}
extern "C" void softmax_half(const void* x, uint32_t m, uint32_t k, uint32_t columns, void* z, void* s, void* t) {
  once("SoftMax", [=](Bench& bench) { softmax<half>(bench, x, m, k, columns, z, s, t); });
}
extern "C" void softmax_float(const void* x, uint32_t m, uint32_t k, uint32_t columns, void* z, void* s, void* t) {
  once("SoftMax", [=](Bench& bench) { softmax<float>(bench, x, m, k, columns, z, s, t); });
}

// Attention's: two parts of each row, one after the other, and a division at the end.
extern "C" void softmax_in_parts(const void* x, uint32_t m, uint32_t k, void* z, void* last) {
  once("SoftmaxFlashV2", [=](Bench& bench) {
    SoftMaxTiling tiling;
    tiling.srcM = m;
    tiling.srcK = k;
    auto a = bench.in<float>(x, m * k), b = bench.in<float>((const uint8_t*)x + m * k * 4, m * k);
    auto c = bench.empty<float>(m * k), d = bench.empty<float>(m * k), scale = bench.empty<float>(m * 8);
    auto sum = bench.empty<float>(m * 8), max = bench.empty<float>(m * 8);
    SoftmaxFlashV2<float>(c, sum, max, a, scale, sum, max, tiling);
    SoftmaxFlashV2<float, true>(d, sum, max, b, scale, sum, max, bench.empty<uint8_t>(kScratch), tiling);
    for (uint32_t r = 0; r < m; ++r) {
      Div(d[r * k], d[r * k], sum[r * 8], 64, uint8_t(k / 64), {1, 1, 0, 8, 8, 0});
      Mul(c[r * k], c[r * k], scale[r * 8], 64, uint8_t(k / 64), {1, 1, 0, 8, 8, 0});
      Div(c[r * k], c[r * k], sum[r * 8], 64, uint8_t(k / 64), {1, 1, 0, 8, 8, 0});
    }
    bench.out(z, c, m * k);
    bench.out(last, d, m * k);
  });
}

// LayerNorm with the variance, LayerNorm with one over its root, RmsNorm.
extern "C" void norms(const void* x, const void* gamma, const void* beta, uint32_t m, uint32_t k, uint32_t columns,
                      void* z, void* means, void* variances, void* rstds) {
  once("LayerNorm", [=](Bench& bench) {
    auto a = bench.in<float>(x, m * k), g = bench.in<float>(gamma, k), b = bench.in<float>(beta, k);
    auto c = bench.in<float>(z, m * k), d = bench.in<float>(z, m * k), e = bench.in<float>(z, m * k);
    auto mean = bench.empty<float>(m), variance = bench.empty<float>(m), rstd = bench.empty<float>(m);
    auto scratch = bench.empty<uint8_t>(kScratch);
    const LayerNormTiling tiling{1, m, k, columns};
    LayerNorm(c, mean, variance, a, g, b, scratch, 1e-5f, tiling);
    LayerNorm<float, float>(d, mean, rstd, a, g, b, 1e-5f, LayerNormPara{m, columns, k}, LayerNormSeparateTiling{});
    RmsNorm(e, a, g, scratch, 1e-5f, RmsNormTiling{1, m, k, columns});
    bench.out(z, c, m * k);
    bench.out((uint8_t*)z + m * k * 4, d, m * k);
    bench.out((uint8_t*)z + 2 * m * k * 4, e, m * k);
    bench.out(means, mean, m);
    bench.out(variances, variance, m);
    bench.out(rstds, rstd, m);
  });
}

extern "C" void broadcasts(const void* column, const void* row, uint32_t m, uint32_t n, void* z) {
  once("BroadCast", [=](Bench& bench) {
    auto a = bench.in<half>(column, m), b = bench.in<half>(row, n);
    auto c = bench.empty<half>(m * n), d = bench.empty<half>(m * n);
    const uint32_t whole[] = {m, n}, tall[] = {m, 1}, wide[] = {1, n};
    BroadCast<half, 2, 1>(c, a, whole, tall);
    Broadcast<half, 2, 0>(d, b, whole, wide, bench.empty<uint8_t>(kScratch));
    bench.out(z, c, m * n);
    bench.out((uint8_t*)z + m * n * 2, d, m * n);
  });
}

// 16 lines of halves, and 16 of 8 floats.
extern "C" void transposes(const void* x, const void* y, void* z, void* w, void* v) {
  once("Transpose", [=](Bench& bench) {
    auto a = bench.in<half>(x, 256), c = bench.empty<half>(256), d = bench.empty<half>(256);
    auto b = bench.in<float>(y, 128), e = bench.empty<float>(128);
    Transpose(c, a);
    LocalTensor<half> from[16], to[16];
    LocalTensor<float> wide_from[16], wide_to[16];
    for (uint32_t i = 0; i < 16; ++i) {
      from[i] = a[i * 16];
      to[i] = d[i * 16];
      wide_from[i] = b[i * 8];
      wide_to[i] = e[i * 8];
    }
    TransDataTo5HD(to, from, {false, false, 1, 0, 0});
    uint64_t wide_targets[16], wide_sources[16];
    for (uint32_t i = 0; i < 16; ++i) {
      wide_targets[i] = wide_to[i].GetPhyAddr();
      wide_sources[i] = wide_from[i].GetPhyAddr();
    }
    TransDataTo5HD<float>(wide_targets, wide_sources, {false, false, 1, 0, 0});
    bench.out(z, c, 256);
    bench.out(w, d, 256);
    bench.out(v, e, 128);
  });
}

// All of it by Sort32 and merges, as a kernel does it; and by Sort.
template <class T>
void sort(Bench& bench, const void* x, uint32_t lists, uint32_t merges, void* values, void* indices) {
  const uint32_t n = lists * 32;
  auto a = bench.in<T>(x, n), sorted = bench.empty<T>(GetSortLen<T>(n)), merged = bench.empty<T>(GetSortLen<T>(n));
  auto index = bench.empty<uint32_t>(n), found = bench.empty<uint32_t>(n);
  auto value = bench.empty<T>(n);
  ArithProgression(index.ReinterpretCast<int32_t>(), 0, 1, n);
  if (merges != 0) {
    Sort32(sorted, a, index, lists);
    const auto list = [&](uint32_t i) { return sorted[GetSortOffset<T>(32 * (i < lists ? i : 0))]; };
    const uint16_t lengths[] = {32, 32, 32, 32}, valid = uint16_t((1u << lists) - 1);
    if (merges == 1) MrgSort(merged, {list(0), list(1), list(2), list(3)}, MrgSort4Info(lengths, false, valid, 1));
    uint32_t counts[4];
    if (merges == 2) MrgSort<T>(merged, {list(0), list(1), list(2), list(3)}, lengths, counts, valid, 1);
  } else {
    LocalTensor<T> concat, scratch = bench.empty<T>(GetSortLen<T>(n));
    Concat(concat, a, scratch, n / 16);
    Sort<T, true>(merged, concat, index, scratch, lists);
  }
  Extract(value, found, merged, lists);
  bench.out(values, value, n);
  bench.out(indices, found, n);
}
extern "C" void sort_half(const void* x, uint32_t lists, uint32_t merges, void* values, void* indices) {
  once("sort", [=](Bench& bench) { sort<half>(bench, x, lists, merges, values, indices); });
}
extern "C" void sort_float(const void* x, uint32_t lists, uint32_t merges, void* values, void* indices) {
  once("sort", [=](Bench& bench) { sort<float>(bench, x, lists, merges, values, indices); });
}

// Two lists, merged until one is empty.
extern "C" void merge_until_one_is_empty(const void* x, void* z, uint32_t* counts) {
  once("MrgSort", [=](Bench& bench) {
    auto a = bench.in<float>(x, 64), sorted = bench.empty<float>(128), merged = bench.empty<float>(128);
    auto index = bench.empty<uint32_t>(64);
    ArithProgression(index.ReinterpretCast<int32_t>(), 0, 1, 64);
    Sort32(sorted, a, index, 2);
    const uint16_t lengths[] = {32, 32, 0, 0};
    Duplicate(merged, 0.0f, 128);
    MrgSort<float, true>(merged, {sorted, sorted[64], sorted, sorted}, lengths, counts, 0b11, 1);
    bench.out(z, merged, 128);
  });
}

extern "C" void top(const void* x, const void* finished, uint32_t m, uint32_t inner, uint32_t n, uint32_t k,
                    uint32_t largest, void* values, void* indices) {
  once("TopK", [=](Bench& bench) {
    const uint32_t padded = (k + 7) / 8 * 8;
    auto a = bench.in<float>(x, m * inner), value = bench.in<float>(values, m * padded);
    auto index = bench.in<int32_t>(indices, m * padded), given = bench.empty<int32_t>(inner);
    auto done = bench.in<bool>(finished, m);
    const TopKInfo info{int32_t(m), int32_t(inner), int32_t(n)};
    TopK<float, false, true>(value, index, a, given, done, bench.empty<uint8_t>(kScratch), k, TopkTiling{}, info,
                             largest != 0);
    bench.out(values, value, m * padded);
    bench.out(indices, index, m * padded);
  });
}

constexpr CumSumConfig kColumns = {false, false, true};

// Running sums of rows and of columns, with the last row of these.
extern "C" void running_sums(const void* x, uint32_t m, uint32_t n, void* z, void* last) {
  once("CumSum", [=](Bench& bench) {
    auto a = bench.in<float>(x, m * n), c = bench.empty<float>(m * n), d = bench.empty<float>(m * n);
    auto row = bench.empty<float>(n);
    CumSum<float>(c, row, a, {m, n});
    CumSum<float, kColumns>(d, row, a, bench.empty<uint8_t>(kScratch), {m, n});
    bench.out(z, c, m * n);
    bench.out((uint8_t*)z + m * n * 4, d, m * n);
    bench.out(last, row, n);
  });
}

// The gradient of a softmax whose result is y, and its sums alone.
extern "C" void softmax_gradient(const void* grad, const void* y, uint32_t m, uint32_t k, void* z, void* sums) {
  once("SoftmaxGrad", [=](Bench& bench) {
    SoftMaxTiling tiling;
    tiling.srcM = m;
    tiling.srcK = k;
    auto g = bench.in<float>(grad, m * k), a = bench.in<float>(y, m * k), c = bench.empty<float>(m * k);
    auto sum = bench.empty<float>(m * 8);
    SoftmaxGrad(c, g, a, bench.empty<uint8_t>(kScratch), tiling);
    SoftmaxGradFront(sum, g, a, tiling);
    bench.out(z, c, m * k);
    bench.out(sums, sum, m * 8);
  });
}

// To half bytes and back.
extern "C" void half_bytes(const void* x, void* packed, void* z, uint32_t n, uint32_t mode) {
  once("Cast", [=](Bench& bench) {
    auto a = bench.in<half>(x, n), c = bench.empty<half>(n);
    auto bytes = bench.empty<int8_t>(n / 2);
    auto pairs = bytes.ReinterpretCast<int4b_t>();
    Cast(pairs, a, RoundMode(mode), n);
    Cast(c, pairs[0], RoundMode::CAST_NONE, pairs.GetSize());
    bench.out(packed, bytes, n / 2);
    bench.out(z, c, n);
  });
}

// The matrix unit: fractals from L1 into L0A and L0B, and their product into L0C.
#ifndef OPBRIDGE_ASCEND_CUBE_H
#define OPBRIDGE_ASCEND_CUBE_H

#include <vector>

#include "fractal.h"

namespace AscendC {

// Fractals are counted from the tensor's start; the gap is between the end of one and the start of the next.
struct LoadData2DParams {
  uint16_t startIndex = 0;
  uint8_t repeatTimes = 0;
  uint16_t srcStride = 0;
  uint8_t sid = 0;
  uint16_t dstGap = 0;
  bool ifTranspose = false;
  uint8_t addrMode = 0;

  LoadData2DParams() = default;
  LoadData2DParams(uint16_t start, uint8_t repeats, uint16_t stride, uint8_t id, uint16_t gap, bool transpose,
                   uint8_t backwards)
      : startIndex(start),
        repeatTimes(repeats),
        srcStride(stride),
        sid(id),
        dstGap(gap),
        ifTranspose(transpose),
        addrMode(backwards) {}
};

// What the headers of 2023 called it.
using LoadData2dParams = LoadData2DParams;

struct LoadData2dTransposeParams {
  uint16_t startIndex = 0;
  uint8_t repeatTimes = 0;
  uint16_t srcStride = 0, dstGap = 0, dstFracGap = 0;
  uint8_t addrMode = 0;

  LoadData2dTransposeParams() = default;
  LoadData2dTransposeParams(uint16_t start, uint8_t repeats, uint16_t stride, uint16_t gap, uint16_t fractal_gap,
                            uint8_t backwards = 0)
      : startIndex(start),
        repeatTimes(repeats),
        srcStride(stride),
        dstGap(gap),
        dstFracGap(fractal_gap),
        addrMode(backwards) {}
};

// The sizes that the product uses, of fragments that may hold more.
struct MmadParams {
  uint16_t m = 0, n = 0, k = 0;
  bool isBias = false;
  int32_t fmOffset = 0;
  bool enSsparse = false, enWinogradA = false, enWinogradB = false;
  int8_t unitFlag = 0;
  bool kDirectionAlign = false;
  bool cmatrixSource = false;
  bool cmatrixInitVal = true;

  MmadParams() = default;
  MmadParams(uint16_t rows, uint16_t columns, uint16_t depth, bool adds, int32_t offset, bool sparse, bool winograd_a,
             bool winograd_b)
      : m(rows),
        n(columns),
        k(depth),
        isBias(adds),
        fmOffset(offset),
        enSsparse(sparse),
        enWinogradA(winograd_a),
        enWinogradB(winograd_b) {}
  MmadParams(uint16_t rows, uint16_t columns, uint16_t depth, int8_t flag, bool from_bias, bool starts_at_zero)
      : m(rows), n(columns), k(depth), unitFlag(flag), cmatrixSource(from_bias), cmatrixInitVal(starts_at_zero) {}
};

namespace detail {

// What sums of products of two types are; void for a pair that the unit does not multiply.
template <class A, class B>
struct SumOf {
  using type = void;
};
template <>
struct SumOf<half, half> {
  using type = float;
};
template <>
struct SumOf<bfloat16_t, bfloat16_t> {
  using type = float;
};
template <>
struct SumOf<float, float> {
  using type = float;
};
template <>
struct SumOf<int8_t, int8_t> {
  using type = int32_t;
};
template <class A, class B>
using SumOfProducts = typename SumOf<A, B>::type;

// c += a * b, all of them by rows without gaps.
template <class C>
void multiply(C* c, const C* a, const C* b, uint32_t m, uint32_t n, uint32_t k) {
  for (uint32_t i = 0; i < m; ++i) {
    C* const sums = c + size_t{i} * n;
    for (uint32_t p = 0; p < k; ++p) {
      const C factor = a[size_t{i} * k + p];
      const C* const row = b + size_t{p} * n;
      for (uint32_t j = 0; j < n; ++j) sums[j] += factor * row[j];
    }
  }
}

// Calls visit(row, column, elements) for what of each row lies together in a fractal.
template <class Visit>
void each_piece(uint32_t rows, uint32_t columns, uint32_t width, Visit visit) {
  for (uint32_t row = 0; row < rows; ++row) {
    for (uint32_t column = 0; column < columns; column += width) {
      visit(row, column, columns - column < width ? columns - column : width);
    }
  }
}

template <class C, class A, class B, class Start>
void mmad(Instruction& instruction, const LocalTensor<C>& dst, const LocalTensor<A>& left, const LocalTensor<B>& right,
          const MmadParams& p, Start start) {
  static_assert(std::is_same_v<C, SumOfProducts<A, B>>,
                "opbridge's Ascend twin multiplies half, bfloat16_t and float into float, and int8_t into int32_t");
  instruction.placed(dst.memory(), "dst", TPosition::CO1);
  instruction.placed(left.memory(), "fm", TPosition::A2);
  instruction.placed(right.memory(), "filter", TPosition::B2);
  instruction.aligned(dst.start(), "dst", 64);
  instruction.aligned(left.start(), "fm", kFractalBytes);
  instruction.aligned(right.start(), "filter", kFractalBytes);
  for (const auto& [name, value] : {std::pair{"m", p.m}, {"n", p.n}, {"k", p.k}}) {
    instruction.requires_that(value <= 4095, name, value, "at most 4095");
  }
  instruction.requires_that(!p.enSsparse && !p.enWinogradA && !p.enWinogradB, "enSsparse or enWinograd", 1,
                            "false: the twin has no sparse and no Winograd product");
  std::vector<C> a(size_t{p.m} * p.k), b(size_t{p.k} * p.n), c(size_t{p.m} * p.n);
  each_piece(p.m, p.k, kRow<A>, [&](uint32_t row, uint32_t k, uint32_t count) {
    // A single row is read as it is, and not in fractals.
    const A* const from = left.data() + (p.m == 1 ? k : in_left<A>(row, k, p.k));
    instruction.reads(left.memory(), from, count * sizeof(A));
    for (uint32_t i = 0; i < count; ++i) a[size_t{row} * p.k + k + i] = static_cast<C>(from[i]);
  });
  each_piece(p.n, p.k, kRow<B>, [&](uint32_t column, uint32_t k, uint32_t count) {
    const B* const from = right.data() + in_right<B>(k, column, p.n);
    instruction.reads(right.memory(), from, count * sizeof(B));
    for (uint32_t i = 0; i < count; ++i) b[size_t{k + i} * p.n + column] = static_cast<C>(from[i]);
  });
  const auto each_result = [&](auto visit) {
    each_piece(p.m, p.n, kSide, [&](uint32_t row, uint32_t column, uint32_t count) {
      visit(dst.data() + in_columns(row, column, p.m, kSide), c.data() + size_t{row} * p.n + column, column, count);
    });
  };
  each_result([&](const C* there, C* sums, uint32_t column, uint32_t count) { start(there, sums, column, count); });
  multiply(c.data(), a.data(), b.data(), p.m, p.n, p.k);
  each_result([&](C* to, const C* sums, uint32_t, uint32_t count) {
    instruction.writes(dst.memory(), to, count * sizeof(C));
    for (uint32_t i = 0; i < count; ++i) to[i] = sums[i];
  });
}

template <class T>
T* fractal(T* data, int64_t number) {
  return data + number * int64_t{kFractalBytes / sizeof(T)};
}

constexpr int64_t nth(uint32_t start, uint32_t stride, uint32_t repeat, uint8_t backwards) {
  return int64_t{start} + (backwards != 0 ? -1 : 1) * int64_t{stride} * repeat;
}

// A square of elements that is `side` wide, whose rows lie in fractals one below the other.
template <class T>
void transpose(T* to, const T* from, uint32_t side) {
  for (uint32_t i = 0; i < side; ++i) {
    for (uint32_t j = 0; j < side; ++j) to[j * side + i] = from[i * side + j];
  }
}

}  // namespace detail

template <class C, class A, class B>
void Mmad(const LocalTensor<C>& dst, const LocalTensor<A>& fm, const LocalTensor<B>& filter, const MmadParams& params,
          Place at = Place::here()) {
  Instruction instruction("Mmad", PIPE_M, at);
  detail::mmad(instruction, dst, fm, filter, params, [&](const C* there, C* sums, uint32_t, uint32_t count) {
    if (params.cmatrixInitVal && !params.isBias) return;
    instruction.reads(dst.memory(), there, count * sizeof(C));
    for (uint32_t i = 0; i < count; ++i) sums[i] = there[i];
  });
}

// The sums start at the bias of their column.
template <class C, class A, class B>
void Mmad(const LocalTensor<C>& dst, const LocalTensor<A>& fm, const LocalTensor<B>& filter, const LocalTensor<C>& bias,
          const MmadParams& params, Place at = Place::here()) {
  Instruction instruction("Mmad", PIPE_M, at);
  instruction.placed(bias.memory(), "bias", TPosition::C2);
  detail::mmad(instruction, dst, fm, filter, params, [&](const C*, C* sums, uint32_t column, uint32_t count) {
    instruction.reads(bias.memory(), bias.data() + column, count * sizeof(C));
    for (uint32_t i = 0; i < count; ++i) sums[i] = bias.data()[column + i];
  });
}

// Fractals as they are, or each of them transposed.
template <class T>
void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData2DParams& p,
              Place at = Place::here()) {
  Instruction instruction("LoadData", PIPE_MTE1, at);
  instruction.aligned(dst.start(), "dst", detail::kFractalBytes);
  instruction.aligned(src.start(), "src");
  instruction.requires_that(!p.ifTranspose || sizeof(T) == 2, "ifTranspose", p.ifTranspose,
                            "false but for elements of 2 bytes; LoadDataWithTranspose takes those of 1 byte too");
  for (uint32_t r = 0; r < p.repeatTimes; ++r) {
    T* const to = detail::fractal(dst.data(), int64_t{r} * (p.dstGap + 1));
    const T* const from = detail::fractal(src.data(), detail::nth(p.startIndex, p.srcStride, r, p.addrMode));
    instruction.moves(dst.memory(), to, src.memory(), from, detail::kFractalBytes, [&p](T* into, const T* out_of) {
      if (p.ifTranspose) return detail::transpose(into, out_of, detail::kSide);
      memcpy(into, out_of, detail::kFractalBytes);
    });
  }
}
template <class T>
void LoadData(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const LoadData2DParams& p,
              Place at = Place::here()) {
  Instruction instruction("LoadData", PIPE_MTE2, at);
  instruction.aligned(dst.start(), "dst");
  instruction.requires_that(!p.ifTranspose, "ifTranspose", p.ifTranspose, "false from global memory");
  for (uint32_t r = 0; r < p.repeatTimes; ++r) {
    T* const to = detail::fractal(dst.data(), int64_t{r} * (p.dstGap + 1));
    const T* const from = detail::fractal(src.data(), detail::nth(p.startIndex, p.srcStride, r, p.addrMode));
    instruction.reads(src.memory(), from, detail::kFractalBytes);
    instruction.writes(dst.memory(), to, detail::kFractalBytes);
    memcpy(to, from, detail::kFractalBytes);
  }
}

// Squares of fractals, each transposed as a whole: one fractal of 2-byte elements, two of 1-byte ones.
template <class T>
void LoadDataWithTranspose(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData2dTransposeParams& p,
                           Place at = Place::here()) {
  static_assert(sizeof(T) <= 2, "opbridge's Ascend twin transposes fractals of elements of 1 and 2 bytes only");
  constexpr uint32_t kFractals = 2 / sizeof(T);
  constexpr uint32_t kWidth = detail::kRow<T>;
  Instruction instruction("LoadDataWithTranspose", PIPE_MTE1, at);
  instruction.aligned(dst.start(), "dst", detail::kFractalBytes);
  instruction.aligned(src.start(), "src");
  for (uint32_t r = 0; r < p.repeatTimes; ++r) {
    const T* const from =
        detail::fractal(src.data(), kFractals * detail::nth(p.startIndex, p.srcStride, r, p.addrMode));
    for (uint32_t part = 0; part < kFractals; ++part) {
      T* const to = detail::fractal(dst.data(), int64_t{r} * (p.dstGap + 1) + part * (p.dstFracGap + 1));
      for (uint32_t source = 0; source < kFractals; ++source) {
        // A fractal's columns become 16 rows, and its rows 16 of their columns.
        instruction.moves(dst.memory(), to, src.memory(), detail::fractal(from, source), detail::kFractalBytes,
                          [&](T* into, const T* out_of) {
                            for (uint32_t i = 0; i < detail::kSide; ++i) {
                              for (uint32_t j = 0; j < detail::kSide; ++j) {
                                into[i * kWidth + source * detail::kSide + j] =
                                    out_of[j * kWidth + part * detail::kSide + i];
                              }
                            }
                          });
      }
    }
  }
}

}  // namespace AscendC
#endif

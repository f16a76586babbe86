// What becomes of the rows of a matrix: one number each, or one a column.
#ifndef OPBRIDGE_ASCEND_ROWS_H
#define OPBRIDGE_ASCEND_ROWS_H

#include <vector>

#include "functions.h"
#include "reduce.h"

namespace AscendC {

// `outter` rows that are `inner` elements apart, of which the first n count.
struct SumParams {
  uint32_t outter = 1, inner = 0, n = 0;
};
// As SumParams.
struct MeanParams {
  uint32_t outter = 1, inner = 0, n = 0;
};

namespace Pattern::Reduce {
struct AR;
struct RA;
}  // namespace Pattern::Reduce

namespace detail {

// Rows of so many elements that count, and the distance from one to the next.
struct Matrix {
  uint32_t rows, columns, step;

  // A tensor of T whose rows start at blocks.
  template <class T>
  Matrix& check(Instruction& instruction, const char* length) {
    instruction.requires_that(rows > 0 && columns > 0, length, step, "a shape, which the host's tiling tells");
    instruction.requires_that(columns <= step, length, step, "at least the elements that count");
    instruction.requires_that(step * sizeof(T) % kBlockBytes == 0, length, step, "elements of whole blocks");
    return *this;
  }
};

template <class T>
void reads(Instruction& instruction, const Matrix& matrix, const LocalTensor<T>& tensor, const char* name) {
  instruction.aligned(tensor.start(), name);
  for (uint32_t r = 0; r < matrix.rows; ++r) {
    instruction.reads(tensor.memory(), tensor.data() + r * matrix.step, matrix.columns * sizeof(T));
  }
}
template <class T>
void writes(Instruction& instruction, const Matrix& matrix, const LocalTensor<T>& tensor, const char* name) {
  instruction.aligned(tensor.start(), name);
  for (uint32_t r = 0; r < matrix.rows; ++r) {
    instruction.writes(tensor.memory(), tensor.data() + r * matrix.step, matrix.columns * sizeof(T));
  }
}

// As ReduceSum by count does it.
template <class T>
T sum_of_row(const T* row, uint32_t n) {
  constexpr uint32_t kMost = Sum<T>::kMost;
  T total = T(0);
  for (uint32_t begin = 0; begin < n; begin += kMost) {
    const uint32_t length = n - begin < kMost ? n - begin : kMost;
    T values[kMost];
    memcpy(static_cast<void*>(values), row + begin, length * sizeof(T));
    total = saturating_sum(total, tree_sum(values, length));
  }
  return total;
}

// dst[r] = f(row r, n)
template <class T, class Params, class F>
void of_rows(Instruction& instruction, const LocalTensor<T>& dst, const LocalTensor<T>& src, const Params& p, F f) {
  instruction.requires_that(p.n >= 1 && p.n <= p.inner, "n", p.n, "1 to inner");
  instruction.requires_that(p.inner * sizeof(T) % kBlockBytes == 0, "inner", p.inner, "elements of whole blocks");
  instruction.aligned(dst.start(), "dst");
  instruction.aligned(src.start(), "src");
  for (uint32_t r = 0; r < p.outter; ++r) {
    const T* const row = src.data() + r * p.inner;
    instruction.reads(src.memory(), row, p.n * sizeof(T));
    write(instruction, dst, r, f(row, p.n));
  }
}

// Reduces a matrix by f to a row (RA) or a column (AR).  With `pads`, rows are whole blocks.
template <class T, class pattern, class F>
void by_pattern(Instruction& instruction, const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t shape[],
                bool pads, F f) {
  static_assert(one_of<pattern, Pattern::Reduce::AR, Pattern::Reduce::RA>,
                "opbridge's Ascend twin has the patterns AscendC::Pattern::Reduce::AR and RA");
  constexpr bool of_row = std::is_same<pattern, Pattern::Reduce::AR>::value;
  constexpr uint32_t per_block = kBlockBytes / sizeof(T);
  const uint32_t rows = shape[0], columns = shape[1];
  const uint32_t step = pads ? (columns + per_block - 1) / per_block * per_block : columns;
  instruction.aligned(dst.start(), "dst");
  instruction.aligned(src.start(), "src");
  for (uint32_t r = 0; r < rows; ++r) instruction.reads(src.memory(), src.data() + r * step, columns * sizeof(T));
  const uint32_t n = of_row ? columns : rows;
  std::vector<T> line(n);
  for (uint32_t i = 0; i < (of_row ? rows : columns); ++i) {
    for (uint32_t j = 0; j < n; ++j) line[j] = src.data()[of_row ? i * step + j : j * step + i];
    write(instruction, dst, i, T(f(line.data(), n)));
  }
}

template <class T, class F>
T folded(const T* values, uint32_t n, F f) {
  T result = values[0];
  for (uint32_t i = 1; i < n; ++i) result = f(result, values[i]);
  return result;
}

}  // namespace detail

// The last axis is the only one there is.
template <class T, int32_t reduceDim = -1, bool isReuseSource = false, bool isBasicBlock = false>
void Sum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const SumParams& params, Place at = Place::here()) {
  OPBRIDGE_ASCEND_TYPES("Sum", T, half, float);
  static_assert(reduceDim == -1, "Sum reduces the last axis: reduceDim is -1");
  Instruction instruction("Sum", PIPE_V, at);
  detail::of_rows(instruction, dst, src, params, detail::sum_of_row<T>);
}
template <class T, int32_t reduceDim = -1, bool isReuseSource = false, bool isBasicBlock = false>
void Sum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& sharedTmpBuffer,
         const SumParams& params, Place at = Place::here()) {
  detail::temporary("Sum", sharedTmpBuffer, at);
  Sum<T, reduceDim>(dst, src, params, at);
}

// accType is what the sum is kept in.
template <class T, class accType = T, bool isReuseSource = false, bool isBasicBlock = false, int32_t reduceDim = -1>
void Mean(const LocalTensor<T>& dst, const LocalTensor<T>& src, const MeanParams& params, Place at = Place::here()) {
  OPBRIDGE_ASCEND_PAIRS("Mean", T, accType, half(half), half(float), float(float));
  static_assert(reduceDim == -1, "Mean reduces the last axis: reduceDim is -1");
  Instruction instruction("Mean", PIPE_V, at);
  detail::of_rows(instruction, dst, src, params, [](const T* row, uint32_t n) {
    std::vector<accType> wide(row, row + n);
    return T(detail::sum_of_row(wide.data(), n) * accType(1.0f / static_cast<float>(n)));
  });
}
template <class T, class accType = T, bool isReuseSource = false, bool isBasicBlock = false, int32_t reduceDim = -1>
void Mean(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& sharedTmpBuffer,
          const MeanParams& params, Place at = Place::here()) {
  detail::temporary("Mean", sharedTmpBuffer, at);
  Mean<T, accType, isReuseSource, isBasicBlock, reduceDim>(dst, src, params, at);
}

// Rows and their length, in elements.
struct CumSumInfo {
  uint32_t outter = 0, inner = 0;
};
struct CumSumConfig {
  bool isLastAxis = true, isReuseSource = false, outputLastRow = false;
};
constexpr CumSumConfig defaultCumSumConfig = {true, false, false};

// Running sums of each row, or of each column; the last row of them once more by itself, where asked for.
template <class T, const CumSumConfig& config = defaultCumSumConfig>
void CumSum(const LocalTensor<T>& dst, const LocalTensor<T>& lastRow, const LocalTensor<T>& src, const CumSumInfo& info,
            Place at = Place::here()) {
  OPBRIDGE_ASCEND_TYPES("CumSum", T, half, float);
  Instruction instruction("CumSum", PIPE_V, at);
  instruction.requires_that(info.inner * sizeof(T) % detail::kBlockBytes == 0, "inner", info.inner,
                            "elements of whole blocks");
  const auto lanes = detail::Lanes::first(instruction, int64_t{info.outter} * info.inner);
  detail::reads(instruction, lanes, detail::Strided<T>{src}, "src");
  detail::writes(instruction, lanes, detail::Strided<T>{dst}, "dst");
  const uint32_t lines = config.isLastAxis ? info.outter : info.inner, n = config.isLastAxis ? info.inner : info.outter;
  for (uint32_t line = 0; line < lines; ++line) {
    float sum = 0;
    for (uint32_t i = 0; i < n; ++i) {
      const uint32_t element = config.isLastAxis ? line * n + i : i * lines + line;
      sum += float(src.data()[element]);
      dst.data()[element] = T(sum);
    }
  }
  if (!config.outputLastRow || info.outter == 0) return;
  for (uint32_t i = 0; i < info.inner; ++i) {
    detail::write(instruction, lastRow, i, dst.data()[(info.outter - 1) * info.inner + i]);
  }
}
template <class T, const CumSumConfig& config = defaultCumSumConfig>
void CumSum(const LocalTensor<T>& dst, const LocalTensor<T>& lastRow, const LocalTensor<T>& src,
            const LocalTensor<uint8_t>& sharedTmpBuffer, const CumSumInfo& info, Place at = Place::here()) {
  detail::temporary("CumSum", sharedTmpBuffer, at);
  CumSum<T, config>(dst, lastRow, src, info, at);
}

// f of a line of n values, by a pattern that says which axis is reduced.
#define OPBRIDGE_ASCEND_PATTERN(Name, result, ...)                                                             \
  template <class T, class pattern, bool isReuseSource = false>                                                \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t srcShape[], bool srcInnerPad, \
            Place at = Place::here()) {                                                                        \
    OPBRIDGE_ASCEND_TYPES(#Name, T, __VA_ARGS__);                                                              \
    Instruction instruction(#Name, PIPE_V, at);                                                                \
    const auto f = [](const T* line, uint32_t n) { return result; };                                           \
    detail::by_pattern<T, pattern>(instruction, dst, src, srcShape, srcInnerPad, f);                           \
  }                                                                                                            \
  template <class T, class pattern, bool isReuseSource = false>                                                \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& sharedTmpBuffer, \
            const uint32_t srcShape[], bool srcInnerPad, Place at = Place::here()) {                           \
    detail::temporary(#Name, sharedTmpBuffer, at);                                                             \
    Name<T, pattern>(dst, src, srcShape, srcInnerPad, at);                                                     \
  }
OPBRIDGE_ASCEND_PATTERN(ReduceSum, detail::sum_of_row(line, n), float)
OPBRIDGE_ASCEND_PATTERN(ReduceMean, detail::sum_of_row(line, n) / static_cast<float>(n), float)
OPBRIDGE_ASCEND_PATTERN(ReduceProd, detail::folded(line, n, [](T a, T b) { return T(a * b); }), float)
OPBRIDGE_ASCEND_PATTERN(ReduceMax, detail::folded(line, n, [](T a, T b) { return a < b ? b : a; }), half, float)
OPBRIDGE_ASCEND_PATTERN(ReduceMin, detail::folded(line, n, [](T a, T b) { return b < a ? b : a; }), half, float)
OPBRIDGE_ASCEND_PATTERN(ReduceAny,
                        T(detail::folded(line, n, [](T a, T b) { return a != T(0) ? T(1) : T(b != T(0)); }) != T(0)),
                        uint8_t, float)
OPBRIDGE_ASCEND_PATTERN(ReduceAll,
                        T(detail::folded(line, n, [](T a, T b) { return T(a != T(0) && b != T(0)); }) != T(0)), uint8_t,
                        float)
#undef OPBRIDGE_ASCEND_PATTERN

}  // namespace AscendC
#endif

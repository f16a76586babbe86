// SoftMax and its relatives, of the rows of a matrix.  Sums and maxima come in rows of one block, all of one value.
#ifndef OPBRIDGE_ASCEND_SOFTMAX_H
#define OPBRIDGE_ASCEND_SOFTMAX_H

#include <kernel_tiling/kernel_tiling.h>
#include <math.h>

#include "rows.h"

namespace AscendC {

// The matrix in memory, and what of it counts; of zeros, the tiling says it.
struct SoftMaxShapeInfo {
  uint32_t srcM = 0, srcK = 0, oriSrcM = 0, oriSrcK = 0;
};

enum class SoftmaxMode : uint8_t { SOFTMAX_NORMAL, SOFTMAX_OUTPUT_WITHOUT_BRC };
struct SoftmaxConfig {
  bool isCheckTiling = true;
  uint32_t oriSrcM = 0, oriSrcK = 0;
  SoftmaxMode mode = SoftmaxMode::SOFTMAX_NORMAL;
};
constexpr SoftmaxConfig SOFTMAX_DEFAULT_CFG = {true, 0, 0, SoftmaxMode::SOFTMAX_NORMAL};

namespace detail {

template <class T>
Matrix matrix_of(Instruction& instruction, const SoftMaxTiling& tiling, const SoftMaxShapeInfo& info) {
  const bool told = info.srcM != 0 && info.srcK != 0;
  const uint32_t step = told ? info.srcK : tiling.srcK;
  const uint32_t rows = info.oriSrcM != 0 ? info.oriSrcM : told ? info.srcM : tiling.srcM;
  return Matrix{rows, info.oriSrcK != 0 ? info.oriSrcK : step, step}.template check<T>(instruction, "srcK");
}

// A tensor of one number a row, spread over a block.
template <class T>
struct BlockOfRow {
  static constexpr uint32_t kPerBlock = kBlockBytes / sizeof(T);
  const LocalTensor<T>* tensor;

  float get(Instruction& instruction, uint32_t row) const {
    instruction.reads(tensor->memory(), tensor->data() + row * kPerBlock, kBlockBytes);
    return tensor->data()[row * kPerBlock];
  }
  void set(Instruction& instruction, uint32_t row, float value) const {
    instruction.writes(tensor->memory(), tensor->data() + row * kPerBlock, kBlockBytes);
    for (uint32_t i = 0; i < kPerBlock; ++i) tensor->data()[row * kPerBlock + i] = T(value);
  }
};
// Replaces an output that the call does not have.
struct NotWanted {
  void set(Instruction&, uint32_t, float) const {}
};

template <class T>
float max_of_row(const T* row, uint32_t n) {
  float most = row[0];
  for (uint32_t i = 1; i < n; ++i) most = most < float(row[i]) ? float(row[i]) : most;
  return most;
}

// to[i] = exp(from[i] - most); their sum.
template <class T>
float exponentials(T* to, const T* from, uint32_t n, float most) {
  float sum = 0;
  for (uint32_t i = 0; i < n; ++i) {
    const float e = ::expf(float(from[i]) - most);
    sum += e;
    to[i] = T(e);
  }
  return sum;
}

template <class T, class Sums, class Maxima>
void softmax(Instruction& instruction, const Matrix& shape, const LocalTensor<T>& dst, const LocalTensor<T>& src,
             const Sums& sums, const Maxima& maxima) {
  OPBRIDGE_ASCEND_TYPES("SoftMax", T, half, float);
  reads(instruction, shape, src, "src");
  writes(instruction, shape, dst, "dst");
  for (uint32_t r = 0; r < shape.rows; ++r) {
    const T* const from = src.data() + r * shape.step;
    T* const to = dst.data() + r * shape.step;
    const float most = max_of_row(from, shape.columns);
    float sum = 0;
    for (uint32_t i = 0; i < shape.columns; ++i) sum += ::expf(float(from[i]) - most);
    for (uint32_t i = 0; i < shape.columns; ++i) to[i] = T(::expf(float(from[i]) - most) / sum);
    sums.set(instruction, r, sum);
    maxima.set(instruction, r, most);
  }
}

}  // namespace detail

#define OPBRIDGE_ASCEND_SOFTMAX_PARAMETERS                                            \
  bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false, \
       const SoftmaxConfig &config = SOFTMAX_DEFAULT_CFG
#define OPBRIDGE_ASCEND_ROWS_ONLY(Name)                                          \
  static_assert(!isDataFormatNZ, "opbridge's Ascend twin has " Name              \
                                 " of rows (ND) only, and not of the format NZ " \
                                 "yet")

#define OPBRIDGE_ASCEND_BLOCKS_ONLY(Name)                   \
  static_assert(config.mode == SoftmaxMode::SOFTMAX_NORMAL, \
                "opbridge's Ascend twin has " Name " with sums and maxima in blocks only (SOFTMAX_NORMAL)")

template <class T, OPBRIDGE_ASCEND_SOFTMAX_PARAMETERS, class S>
void SoftMax(const LocalTensor<T>& dst, const LocalTensor<S>& sum, const LocalTensor<S>& max, const LocalTensor<T>& src,
             const SoftMaxTiling& tiling, const SoftMaxShapeInfo& softmaxShapeInfo = {}, Place at = Place::here()) {
  OPBRIDGE_ASCEND_ROWS_ONLY("SoftMax");
  OPBRIDGE_ASCEND_BLOCKS_ONLY("SoftMax");
  OPBRIDGE_ASCEND_TYPES("SoftMax, for sum and max,", S, T, float);
  Instruction instruction("SoftMax", PIPE_V, at);
  const auto shape = detail::matrix_of<T>(instruction, tiling, softmaxShapeInfo);
  detail::softmax(instruction, shape, dst, src, detail::BlockOfRow<S>{&sum}, detail::BlockOfRow<S>{&max});
}
template <class T, OPBRIDGE_ASCEND_SOFTMAX_PARAMETERS, class S>
void SoftMax(const LocalTensor<T>& dst, const LocalTensor<S>& sum, const LocalTensor<S>& max, const LocalTensor<T>& src,
             const LocalTensor<uint8_t>& sharedTmpBuffer, const SoftMaxTiling& tiling,
             const SoftMaxShapeInfo& softmaxShapeInfo = {}, Place at = Place::here()) {
  detail::temporary("SoftMax", sharedTmpBuffer, at);
  SoftMax<T, isReuseSource, isBasicBlock, isDataFormatNZ, config>(dst, sum, max, src, tiling, softmaxShapeInfo, at);
}
template <class T, OPBRIDGE_ASCEND_SOFTMAX_PARAMETERS>
void SoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const SoftMaxTiling& tiling,
             const SoftMaxShapeInfo& softmaxShapeInfo = {}, Place at = Place::here()) {
  OPBRIDGE_ASCEND_ROWS_ONLY("SoftMax");
  OPBRIDGE_ASCEND_BLOCKS_ONLY("SoftMax");
  Instruction instruction("SoftMax", PIPE_V, at);
  const auto shape = detail::matrix_of<T>(instruction, tiling, softmaxShapeInfo);
  detail::softmax(instruction, shape, dst, src, detail::NotWanted{}, detail::NotWanted{});
}
template <class T, OPBRIDGE_ASCEND_SOFTMAX_PARAMETERS>
void SoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& sharedTmpBuffer,
             const SoftMaxTiling& tiling, const SoftMaxShapeInfo& softmaxShapeInfo = {}, Place at = Place::here()) {
  detail::temporary("SoftMax", sharedTmpBuffer, at);
  SoftMax<T, isReuseSource, isBasicBlock, isDataFormatNZ, config>(dst, src, tiling, softmaxShapeInfo, at);
}

// exp(src - max) / sum, with sums and maxima that are known.
template <class T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false, class S>
void SimpleSoftMax(const LocalTensor<T>& dst, const LocalTensor<S>& inSum, const LocalTensor<S>& inMax,
                   const LocalTensor<T>& src, const SoftMaxTiling& tiling,
                   const SoftMaxShapeInfo& softmaxShapeInfo = {}, Place at = Place::here()) {
  OPBRIDGE_ASCEND_ROWS_ONLY("SimpleSoftMax");
  OPBRIDGE_ASCEND_TYPES("SimpleSoftMax", T, half, float);
  Instruction instruction("SimpleSoftMax", PIPE_V, at);
  const auto shape = detail::matrix_of<T>(instruction, tiling, softmaxShapeInfo);
  detail::reads(instruction, shape, src, "src");
  detail::writes(instruction, shape, dst, "dst");
  for (uint32_t r = 0; r < shape.rows; ++r) {
    const float sum = detail::BlockOfRow<S>{&inSum}.get(instruction, r);
    const float most = detail::BlockOfRow<S>{&inMax}.get(instruction, r);
    for (uint32_t i = r * shape.step; i < r * shape.step + shape.columns; ++i) {
      dst.data()[i] = T(::expf(float(src.data()[i]) - most) / sum);
    }
  }
}

// Softmax without its division, of a part of each row; `isUpdate`: further parts came before, as inExpSum and inMax.
template <class T, bool isUpdate = false, OPBRIDGE_ASCEND_SOFTMAX_PARAMETERS, class S>
void SoftmaxFlashV2(const LocalTensor<T>& dst, const LocalTensor<S>& expSum, const LocalTensor<S>& max,
                    const LocalTensor<T>& src, const LocalTensor<T>& expMax, const LocalTensor<S>& inExpSum,
                    const LocalTensor<S>& inMax, const SoftMaxTiling& tiling,
                    const SoftMaxShapeInfo& softmaxShapeInfo = {}, Place at = Place::here()) {
  OPBRIDGE_ASCEND_ROWS_ONLY("SoftmaxFlashV2");
  OPBRIDGE_ASCEND_BLOCKS_ONLY("SoftmaxFlashV2");
  OPBRIDGE_ASCEND_TYPES("SoftmaxFlashV2", T, half, float);
  Instruction instruction("SoftmaxFlashV2", PIPE_V, at);
  const auto shape = detail::matrix_of<T>(instruction, tiling, softmaxShapeInfo);
  detail::reads(instruction, shape, src, "src");
  detail::writes(instruction, shape, dst, "dst");
  for (uint32_t r = 0; r < shape.rows; ++r) {
    const T* const from = src.data() + r * shape.step;
    float most = detail::max_of_row(from, shape.columns);
    float before = 0;
    if constexpr (isUpdate) {
      const float old = detail::BlockOfRow<S>{&inMax}.get(instruction, r);
      most = most < old ? old : most;
      const float scale = ::expf(old - most);
      before = scale * detail::BlockOfRow<S>{&inExpSum}.get(instruction, r);
      detail::BlockOfRow<T>{&expMax}.set(instruction, r, scale);
    }
    const float sum = detail::exponentials(dst.data() + r * shape.step, from, shape.columns, most);
    detail::BlockOfRow<S>{&expSum}.set(instruction, r, before + sum);
    detail::BlockOfRow<S>{&max}.set(instruction, r, most);
  }
}
template <class T, bool isUpdate = false, OPBRIDGE_ASCEND_SOFTMAX_PARAMETERS, class S>
void SoftmaxFlashV2(const LocalTensor<T>& dst, const LocalTensor<S>& expSum, const LocalTensor<S>& max,
                    const LocalTensor<T>& src, const LocalTensor<T>& expMax, const LocalTensor<S>& inExpSum,
                    const LocalTensor<S>& inMax, const LocalTensor<uint8_t>& sharedTmpBuffer,
                    const SoftMaxTiling& tiling, const SoftMaxShapeInfo& softmaxShapeInfo = {},
                    Place at = Place::here()) {
  detail::temporary("SoftmaxFlashV2", sharedTmpBuffer, at);
  SoftmaxFlashV2<T, isUpdate, isReuseSource, isBasicBlock, isDataFormatNZ, config>(
      dst, expSum, max, src, expMax, inExpSum, inMax, tiling, softmaxShapeInfo, at);
}

namespace detail {

template <class T>
float sum_of_products(const T* a, const T* b, uint32_t n) {
  float sum = 0;
  for (uint32_t i = 0; i < n; ++i) sum += float(a[i]) * float(b[i]);
  return sum;
}

}  // namespace detail

// The gradient of SoftMax, whose result is src: (grad - sum) * src, or only the sum of each row of grad * src.
template <class T, bool isReuseSource = false, bool isDataFormatNZ = false>
void SoftmaxGrad(const LocalTensor<T>& dst, const LocalTensor<T>& grad, const LocalTensor<T>& src,
                 const SoftMaxTiling& tiling, bool isFront = false, const SoftMaxShapeInfo& softmaxShapeInfo = {},
                 Place at = Place::here()) {
  OPBRIDGE_ASCEND_ROWS_ONLY("SoftmaxGrad");
  OPBRIDGE_ASCEND_TYPES("SoftmaxGrad", T, half, float);
  Instruction instruction("SoftmaxGrad", PIPE_V, at);
  const auto shape = detail::matrix_of<T>(instruction, tiling, softmaxShapeInfo);
  detail::reads(instruction, shape, src, "src");
  detail::reads(instruction, shape, grad, "grad");
  if (!isFront) detail::writes(instruction, shape, dst, "dst");
  for (uint32_t r = 0; r < shape.rows; ++r) {
    const uint32_t begin = r * shape.step;
    const float sum = detail::sum_of_products(grad.data() + begin, src.data() + begin, shape.columns);
    if (isFront) detail::BlockOfRow<T>{&dst}.set(instruction, r, sum);
    for (uint32_t i = begin; !isFront && i < begin + shape.columns; ++i) {
      dst.data()[i] = T((float(grad.data()[i]) - sum) * float(src.data()[i]));
    }
  }
}
template <class T, bool isReuseSource = false, bool isDataFormatNZ = false>
void SoftmaxGrad(const LocalTensor<T>& dst, const LocalTensor<T>& grad, const LocalTensor<T>& src,
                 const LocalTensor<uint8_t>& sharedTmpBuffer, const SoftMaxTiling& tiling, bool isFront = false,
                 const SoftMaxShapeInfo& softmaxShapeInfo = {}, Place at = Place::here()) {
  detail::temporary("SoftmaxGrad", sharedTmpBuffer, at);
  SoftmaxGrad<T, isReuseSource, isDataFormatNZ>(dst, grad, src, tiling, isFront, softmaxShapeInfo, at);
}
template <class T, bool isBasicBlock = false, bool isDataFormatNZ = false>
void SoftmaxGradFront(const LocalTensor<T>& dst, const LocalTensor<T>& grad, const LocalTensor<T>& src,
                      const SoftMaxTiling& tiling, const SoftMaxShapeInfo& softmaxShapeInfo = {},
                      Place at = Place::here()) {
  SoftmaxGrad<T, false, isDataFormatNZ>(dst, grad, src, tiling, true, softmaxShapeInfo, at);
}
template <class T, bool isBasicBlock = false, bool isDataFormatNZ = false>
void SoftmaxGradFront(const LocalTensor<T>& dst, const LocalTensor<T>& grad, const LocalTensor<T>& src,
                      const LocalTensor<uint8_t>& sharedTmpBuffer, const SoftMaxTiling& tiling,
                      const SoftMaxShapeInfo& softmaxShapeInfo = {}, Place at = Place::here()) {
  SoftmaxGrad<T, false, isDataFormatNZ>(dst, grad, src, sharedTmpBuffer, tiling, true, softmaxShapeInfo, at);
}
#undef OPBRIDGE_ASCEND_BLOCKS_ONLY
#undef OPBRIDGE_ASCEND_ROWS_ONLY
#undef OPBRIDGE_ASCEND_SOFTMAX_PARAMETERS

}  // namespace AscendC
#endif

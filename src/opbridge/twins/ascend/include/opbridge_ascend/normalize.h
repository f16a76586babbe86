// LayerNorm and RmsNorm, of the last axis.
#ifndef OPBRIDGE_ASCEND_NORMALIZE_H
#define OPBRIDGE_ASCEND_NORMALIZE_H

#include <kernel_tiling/kernel_tiling.h>
#include <math.h>

#include "rows.h"

namespace AscendC {
namespace detail {

// [b, s, h], of whose h the first originalH count.
template <class T, class Tiling>
Matrix matrix_of(Instruction& instruction, const Tiling& tiling) {
  const uint32_t columns = tiling.originalHLength != 0 ? tiling.originalHLength : tiling.hLength;
  return Matrix{tiling.bLength * tiling.sLength, columns, tiling.hLength}.template check<T>(instruction, "hLength");
}

// scale(mean, variance) returns the second result next to the mean: the variance, or one over its root.
template <class T, class U, class S, class Scale>
void layer_norm(Instruction& instruction, const Matrix& matrix, const LocalTensor<T>& dst, const LocalTensor<S>& means,
                const LocalTensor<S>& seconds, const LocalTensor<T>& src, const LocalTensor<U>& gamma,
                const LocalTensor<U>& beta, float epsilon, Scale scale) {
  OPBRIDGE_ASCEND_TYPES("LayerNorm", T, half, float);
  reads(instruction, matrix, src, "inputX");
  instruction.reads(gamma.memory(), gamma.data(), matrix.columns * sizeof(U));
  instruction.reads(beta.memory(), beta.data(), matrix.columns * sizeof(U));
  writes(instruction, matrix, dst, "output");
  const auto n = static_cast<float>(matrix.columns);
  for (uint32_t r = 0; r < matrix.rows; ++r) {
    const T* const from = src.data() + r * matrix.step;
    T* const to = dst.data() + r * matrix.step;
    float sum = 0;
    for (uint32_t i = 0; i < matrix.columns; ++i) sum += float(from[i]);
    const float mean = sum / n;
    float squares = 0;
    for (uint32_t i = 0; i < matrix.columns; ++i) squares += (float(from[i]) - mean) * (float(from[i]) - mean);
    const float variance = squares / n, rstd = 1 / ::sqrtf(variance + epsilon);
    for (uint32_t i = 0; i < matrix.columns; ++i) {
      to[i] = T((float(from[i]) - mean) * rstd * float(gamma.data()[i]) + float(beta.data()[i]));
    }
    write(instruction, means, r, S(mean));
    write(instruction, seconds, r, S(scale(variance, rstd)));
  }
}

}  // namespace detail

// A template argument of the call; what leaves beta, gamma or the statistics out is refused here.
struct LayerNormConfig {
  bool isNoBeta = false, isNoGamma = false, isOnlyOutput = false;
};
constexpr LayerNormConfig LNCFG_NORM = {};
// Rows, their length, and their length in memory.
struct LayerNormPara {
  uint32_t aLength = 0, rLength = 0, rLengthWithPadding = 0;
};

// With the variance, of [b, s, h].
template <class T, bool isReuseSource = false>
void LayerNorm(const LocalTensor<T>& output, const LocalTensor<T>& outputMean, const LocalTensor<T>& outputVariance,
               const LocalTensor<T>& inputX, const LocalTensor<T>& gamma, const LocalTensor<T>& beta,
               const detail::Exactly<T> epsilon, const LayerNormTiling& tiling, Place at = Place::here()) {
  Instruction instruction("LayerNorm", PIPE_V, at);
  detail::layer_norm(instruction, detail::matrix_of<T>(instruction, tiling), output, outputMean, outputVariance, inputX,
                     gamma, beta, epsilon, [](float variance, float) { return variance; });
}
template <class T, bool isReuseSource = false>
void LayerNorm(const LocalTensor<T>& output, const LocalTensor<T>& outputMean, const LocalTensor<T>& outputVariance,
               const LocalTensor<T>& inputX, const LocalTensor<T>& gamma, const LocalTensor<T>& beta,
               const LocalTensor<uint8_t>& sharedTmpBuffer, const detail::Exactly<T> epsilon,
               const LayerNormTiling& tiling, Place at = Place::here()) {
  detail::temporary("LayerNorm", sharedTmpBuffer, at);
  LayerNorm(output, outputMean, outputVariance, inputX, gamma, beta, epsilon, tiling, at);
}
// With one over the standard deviation, of [a, r].
template <class U, class T, bool isReuseSource = false, const LayerNormConfig& config = LNCFG_NORM>
void LayerNorm(const LocalTensor<T>& output, const LocalTensor<float>& outputMean, const LocalTensor<float>& outputRstd,
               const LocalTensor<T>& inputX, const LocalTensor<U>& gamma, const LocalTensor<U>& beta,
               const float epsilon, const LayerNormPara& para, const LayerNormSeparateTiling&,
               Place at = Place::here()) {
  static_assert(!config.isNoBeta && !config.isNoGamma && !config.isOnlyOutput,
                "opbridge's Ascend twin has LayerNorm with gamma, beta, mean and rstd only: LNCFG_NORM");
  Instruction instruction("LayerNorm", PIPE_V, at);
  detail::Matrix matrix{para.aLength, para.rLength, para.rLengthWithPadding};
  detail::layer_norm(instruction, matrix.check<T>(instruction, "rLengthWithPadding"), output, outputMean, outputRstd,
                     inputX, gamma, beta, epsilon, [](float, float rstd) { return rstd; });
}
template <class U, class T, bool isReuseSource = false, const LayerNormConfig& config = LNCFG_NORM>
void LayerNorm(const LocalTensor<T>& output, const LocalTensor<float>& outputMean, const LocalTensor<float>& outputRstd,
               const LocalTensor<T>& inputX, const LocalTensor<U>& gamma, const LocalTensor<U>& beta,
               const LocalTensor<uint8_t>& sharedTmpBuffer, const float epsilon, const LayerNormPara& para,
               const LayerNormSeparateTiling& tiling, Place at = Place::here()) {
  detail::temporary("LayerNorm", sharedTmpBuffer, at);
  LayerNorm<U, T, isReuseSource, config>(output, outputMean, outputRstd, inputX, gamma, beta, epsilon, para, tiling,
                                         at);
}

// gamma * x / sqrt(mean of x squared + epsilon)
template <class T, bool isBasicBlock = false>
void RmsNorm(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& gamma,
             const detail::Exactly<T> epsilon, const RmsNormTiling& tiling, Place at = Place::here()) {
  OPBRIDGE_ASCEND_TYPES("RmsNorm", T, half, float);
  Instruction instruction("RmsNorm", PIPE_V, at);
  const auto matrix = detail::matrix_of<T>(instruction, tiling);
  detail::reads(instruction, matrix, src, "src");
  instruction.reads(gamma.memory(), gamma.data(), matrix.columns * sizeof(T));
  detail::writes(instruction, matrix, dst, "dst");
  for (uint32_t r = 0; r < matrix.rows; ++r) {
    const T* const from = src.data() + r * matrix.step;
    float squares = 0;
    for (uint32_t i = 0; i < matrix.columns; ++i) squares += float(from[i]) * float(from[i]);
    const float scale = 1 / ::sqrtf(squares / static_cast<float>(matrix.columns) + float(epsilon));
    for (uint32_t i = 0; i < matrix.columns; ++i) {
      dst.data()[r * matrix.step + i] = T(float(from[i]) * scale * float(gamma.data()[i]));
    }
  }
}
template <class T, bool isBasicBlock = false>
void RmsNorm(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& gamma,
             const LocalTensor<uint8_t>& sharedTmpBuffer, const detail::Exactly<T> epsilon, const RmsNormTiling& tiling,
             Place at = Place::here()) {
  detail::temporary("RmsNorm", sharedTmpBuffer, at);
  RmsNorm(dst, src, gamma, epsilon, tiling, at);
}

}  // namespace AscendC
#endif

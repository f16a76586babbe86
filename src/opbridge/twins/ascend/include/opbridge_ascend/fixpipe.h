// Fixpipe: results of the matrix unit go from L0C to global memory, and become what they are stored as on the way.
#ifndef OPBRIDGE_ASCEND_FIXPIPE_H
#define OPBRIDGE_ASCEND_FIXPIPE_H

#include "fractal.h"

// The conversion of stored values.  The twin lacks the modes that take their scale from a tensor.
enum QuantMode_t {
  NoQuant,
  F322F16,
  F322BF16,
  DEQF16,
  VDEQF16,
  QF322B8_PRE,
  VQF322B8_PRE,
  REQ8,
  VREQ8,
};

namespace AscendC {

using ::QuantMode_t;

enum class CO2Layout : uint8_t { NZ, ROW_MAJOR };
// A constant of the call: the layout of the result, as fractals or as consecutive rows.
struct FixpipeConfig {
  CO2Layout format;
};
constexpr FixpipeConfig CFG_NZ{CO2Layout::NZ};
constexpr FixpipeConfig CFG_ROW_MAJOR{CO2Layout::ROW_MAJOR};

// srcStride in rows of a fractal; dstStride in elements by rows, in 32 bytes in fractals.
struct FixpipeParamsV220 {
  uint16_t nSize = 0, mSize = 0, srcStride = 0;
  uint32_t dstStride = 0;
  QuantMode_t quantPre = NoQuant;
  uint64_t deqScalar = 0;
  uint16_t ndNum = 1, srcNdStride = 0, dstNdStride = 0;
  bool reluEn = false;
  uint8_t unitFlag = 0;
  bool isChannelSplit = false;

  FixpipeParamsV220() = default;
  FixpipeParamsV220(uint16_t columns, uint16_t rows, uint16_t src_stride, uint32_t dst_stride, bool relu)
      : nSize(columns), mSize(rows), srcStride(src_stride), dstStride(dst_stride), reluEn(relu) {}
};

namespace detail {

template <class T, class U>
QuantMode_t needed() {
  if (std::is_same_v<T, U>) return NoQuant;
  if (std::is_same_v<U, int32_t>) return DEQF16;
  return std::is_same_v<T, half> ? F322F16 : F322BF16;
}

inline float scale_of(uint64_t bits) {
  const auto low = static_cast<uint32_t>(bits);
  float scale;
  memcpy(&scale, &low, sizeof scale);
  return scale;
}

}  // namespace detail

template <class T, class U, const FixpipeConfig& config = CFG_ROW_MAJOR>
void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src, const FixpipeParamsV220& p,
             Place at = Place::here()) {
  static_assert(
      std::is_same_v<T, U> || std::is_same_v<T, half> || (std::is_same_v<T, bfloat16_t> && std::is_same_v<U, float>),
      "opbridge's Ascend twin stores float as float, half or bfloat16_t, and int32_t as int32_t or half");
  Instruction instruction("Fixpipe", PIPE_FIX, at);
  instruction.placed(src.memory(), "src", TPosition::CO1);
  instruction.aligned(src.start(), "src", 64);
  instruction.requires_that(p.quantPre == detail::needed<T, U>(), "quantPre", p.quantPre,
                            "NoQuant for the type of src, F322F16 or F322BF16 from float, DEQF16 from int32_t");
  instruction.requires_that(!p.isChannelSplit, "isChannelSplit", 1, "false: the twin does not split channels");
  constexpr bool by_rows = config.format == CO2Layout::ROW_MAJOR;
  // What of a row is stored together: all that lies together in L0C.
  constexpr uint32_t kWidth = detail::kSide;
  const float scale = detail::scale_of(p.deqScalar);
  const uint32_t matrices = by_rows ? p.ndNum : 1;
  for (uint32_t matrix = 0; matrix < matrices; ++matrix) {
    const U* const first = src.data() + size_t{matrix} * p.srcNdStride * (1024 / sizeof(U));
    for (uint32_t row = 0; row < p.mSize; ++row) {
      for (uint32_t column = 0; column < p.nSize; column += kWidth) {
        const uint32_t count = p.nSize - column < kWidth ? p.nSize - column : kWidth;
        const U* const from = first + (size_t{column / kWidth} * p.srcStride + row) * kWidth;
        T* const to =
            dst.data() + (by_rows ? size_t{matrix} * p.dstNdStride + size_t{row} * p.dstStride + column
                                  : size_t{column / kWidth} * p.dstStride * (detail::kBlockBytes / sizeof(T)) +
                                        size_t{row} * kWidth);
        instruction.reads(src.memory(), from, count * sizeof(U));
        instruction.writes(dst.memory(), to, count * sizeof(T));
        T stored[kWidth];
        for (uint32_t i = 0; i < count; ++i) {
          const U value = p.reluEn && from[i] < U(0) ? U(0) : from[i];
          if constexpr (std::is_same_v<U, int32_t> && std::is_same_v<T, half>) {
            stored[i] = T(static_cast<float>(value) * scale);
          } else {
            stored[i] = T(value);
          }
        }
        detail::store(dst.memory(), to, stored, count);
      }
    }
  }
}

}  // namespace AscendC
#endif

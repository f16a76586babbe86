// What changes the shape of a matrix in local memory: spreading and transposing.
#ifndef OPBRIDGE_ASCEND_SHAPE_H
#define OPBRIDGE_ASCEND_SHAPE_H

#include <kernel_tiling/kernel_tiling.h>

#include "functions.h"

namespace AscendC {

// Strides count blocks of 32 bytes, from one repeat to the next; a single one has no use for them.
struct TransDataTo5HDParams {
  TransDataTo5HDParams() = default;
  TransDataTo5HDParams(bool dst_high, bool src_high, uint32_t repeats, uint32_t dst_repeat, uint32_t src_repeat)
      : dstHighHalf(dst_high),
        srcHighHalf(src_high),
        repeatTimes(repeats),
        dstRepStride(dst_repeat),
        srcRepStride(src_repeat) {}

  bool dstHighHalf = false, srcHighHalf = false;
  uint32_t repeatTimes = 1, dstRepStride = 0, srcRepStride = 0;
};

namespace detail {

constexpr uint32_t kTile = 16;

// A column of m to [m, n], or a row of n to [m, n].
template <class T, int32_t dim, int32_t axis>
void broadcast(Instruction& instruction, const LocalTensor<T>& dst, const LocalTensor<T>& src,
               const uint32_t dst_shape[], const uint32_t src_shape[]) {
  // The documents name the first four; it is bits that are moved, and shipped kernels do so with whole numbers.
  OPBRIDGE_ASCEND_TYPES("BroadCast", T, int8_t, uint8_t, half, float, int16_t, uint16_t, int32_t, uint32_t);
  static_assert(dim == 1 || dim == 2, "opbridge's Ascend twin has BroadCast of one and two dimensions only");
  static_assert(axis >= 0 && axis < dim, "the axis of BroadCast is one of the shape's");
  const uint32_t rows = dim == 1 ? 1 : dst_shape[0], columns = dst_shape[dim - 1];
  instruction.requires_that(src_shape[axis] == 1, "srcShape[axis]", src_shape[axis], "1: this axis is what grows");
  instruction.requires_that(dim == 1 || src_shape[1 - axis] == dst_shape[1 - axis], "the other axis of srcShape",
                            src_shape[dim == 1 ? 0 : 1 - axis], "that of dstShape");
  constexpr bool of_row = dim == 2 && axis == 0;
  const uint32_t given = dim == 1 ? 1 : of_row ? columns : rows;
  instruction.aligned(dst.start(), "dst");
  instruction.aligned(src.start(), "src");
  Unknown unknown;
  unknown.look(instruction, Lanes::first(instruction, given), Strided<T>{src}, "src");
  instruction.writes(dst.memory(), dst.data(), size_t{rows} * columns * sizeof(T));
  for (uint32_t i = 0; i < rows * columns; ++i) {
    const uint32_t from = dim == 1 ? 0 : of_row ? i % columns : i / columns;
    dst.data()[i] = src.data()[from];
    if (unknown.has(from)) instruction.forget(dst.memory(), dst.data() + i, sizeof(T));
  }
}

// 16 lines to 16 lines: an element of 2 bytes goes to the line of its column.  Of 4 bytes, 8 stand in a block, so the
// two blocks of a transposed row are two lines.
template <class T>
void to_5hd(Instruction& instruction, const LocalTensor<T> (&dst)[kTile], const LocalTensor<T> (&src)[kTile],
            const TransDataTo5HDParams& p) {
  static_assert(one_of<T, half, int16_t, uint16_t, float, int32_t, uint32_t>,
                "opbridge's Ascend twin has TransDataTo5HD of elements of 2 and 4 bytes only yet");
  constexpr uint32_t kPerBlock = kBlockBytes / sizeof(T);
  instruction.requires_that(p.repeatTimes <= kMaxRepeats, "repeatTimes", p.repeatTimes, "at most 255");
  for (uint32_t r = 0; r < p.repeatTimes; ++r) {
    const uint32_t from = p.repeatTimes == 1 ? 0 : r * p.srcRepStride * kPerBlock;
    const uint32_t to = p.repeatTimes == 1 ? 0 : r * p.dstRepStride * kPerBlock;
    T lines[kTile][kPerBlock];
    bool is_known[kTile][kPerBlock];
    for (uint32_t i = 0; i < kTile; ++i) {
      instruction.aligned(src[i].start(), "a line of src");
      instruction.aligned(dst[i].start(), "a line of dst");
      const T* const line = src[i].data() + from;
      const bool all = instruction.looks_at(src[i].memory(), line, kBlockBytes);
      for (uint32_t k = 0; k < kPerBlock; ++k) {
        lines[i][k] = line[k];
        is_known[i][k] = all || instruction.knows(src[i].memory(), line + k, sizeof(T));
      }
    }
    for (uint32_t column = 0; column < kPerBlock; ++column) {
      for (uint32_t i = 0; i < kTile; ++i) {
        const LocalTensor<T>& line = dst[(column * kTile + i) / kPerBlock];
        T* const at = line.data() + to + (column * kTile + i) % kPerBlock;
        instruction.writes(line.memory(), at, sizeof(T));
        *at = lines[i][column];
        if (!is_known[i][column]) instruction.forget(line.memory(), at, sizeof(T));
      }
    }
  }
}

}  // namespace detail

#define OPBRIDGE_ASCEND_BROADCAST(Name)                                                                         \
  template <class T, int32_t dim, int32_t axis, bool isReuseSource = false>                                     \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t dstShape[],                    \
            const uint32_t srcShape[], Place at = Place::here()) {                                              \
    Instruction instruction(#Name, PIPE_V, at);                                                                 \
    detail::broadcast<T, dim, axis>(instruction, dst, src, dstShape, srcShape);                                 \
  }                                                                                                             \
  template <class T, int32_t dim, int32_t axis, bool isReuseSource = false>                                     \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t dstShape[],                    \
            const uint32_t srcShape[], const LocalTensor<uint8_t>& sharedTmpBuffer, Place at = Place::here()) { \
    detail::temporary(#Name, sharedTmpBuffer, at);                                                              \
    Instruction instruction(#Name, PIPE_V, at);                                                                 \
    detail::broadcast<T, dim, axis>(instruction, dst, src, dstShape, srcShape);                                 \
  }
OPBRIDGE_ASCEND_BROADCAST(BroadCast)
OPBRIDGE_ASCEND_BROADCAST(Broadcast)
#undef OPBRIDGE_ASCEND_BROADCAST

// Elements of each row that padding brought; only those on the right are taken away, and fill less than a block.
struct UnPadParams {
  uint16_t leftPad = 0, rightPad = 0;
};

// Drops the last elements of rows: from rows of whole blocks to contiguous rows.
template <class T>
void UnPad(const LocalTensor<T>& dst, const LocalTensor<T>& src, const UnPadParams& params, const UnPadTiling& tiling,
           Place at = Place::here()) {
  OPBRIDGE_ASCEND_TYPES("UnPad", T, int16_t, uint16_t, half, int32_t, uint32_t, float);
  Instruction instruction("UnPad", PIPE_V, at);
  const uint32_t rows = tiling.srcHeight, width = tiling.srcWidth;
  instruction.requires_that(width * sizeof(T) % detail::kBlockBytes == 0, "the width", width,
                            "whole blocks of 32 bytes");
  instruction.requires_that(params.rightPad * sizeof(T) < detail::kBlockBytes && params.rightPad <= width, "rightPad",
                            params.rightPad, "less than 32 bytes");
  const uint32_t kept = width - params.rightPad;
  detail::reads(instruction, detail::Lanes::first(instruction, rows * width), detail::Strided<T>{src}, "src");
  detail::writes(instruction, detail::Lanes::first(instruction, rows * kept), detail::Strided<T>{dst}, "dst");
  for (uint32_t row = 0; row < rows; ++row) {
    memmove(static_cast<void*>(dst.data() + row * kept), src.data() + row * width, kept * sizeof(T));
  }
}
template <class T>
void UnPad(const LocalTensor<T>& dst, const LocalTensor<T>& src, const UnPadParams& params,
           const LocalTensor<uint8_t>& sharedTmpBuffer, const UnPadTiling& tiling, Place at = Place::here()) {
  detail::temporary("UnPad", sharedTmpBuffer, at);
  UnPad(dst, src, params, tiling, at);
}

enum class TransposeType : uint8_t {
  TRANSPOSE_TYPE_NONE,
  TRANSPOSE_NZ2ND_0213,
  TRANSPOSE_NZ2NZ_0213,
  TRANSPOSE_NZ2NZ_012_WITH_N,
  TRANSPOSE_NZ2ND_012_WITH_N,
  TRANSPOSE_NZ2ND_012_WITHOUT_N,
  TRANSPOSE_NZ2NZ_012_WITHOUT_N,
  TRANSPOSE_ND2ND_ONLY,
  TRANSPOSE_ND_UB_GM,
  TRANSPOSE_GRAD_ND_UB_GM,
  TRANSPOSE_ND2ND_B16,
  TRANSPOSE_NCHW2NHWC,
  TRANSPOSE_NHWC2NCHW,
};
struct TransposeParamsExt {
  uint16_t nSize = 0, cSize = 0, hSize = 0, wSize = 0;
  TransposeType transposeType = TransposeType::TRANSPOSE_ND2ND_B16;
};

// 16 rows of 16 elements of 2 bytes.
template <class T>
void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src, Place at = Place::here()) {
  OPBRIDGE_ASCEND_TYPES("Transpose", T, int16_t, uint16_t, half);
  Instruction instruction("Transpose", PIPE_V, at);
  constexpr uint32_t kSide = detail::kTile;
  detail::rearranged(instruction, kSide * kSide, dst, src, [](uint32_t i) { return i % kSide * kSide + i / kSide; });
}

// The same, or moves the channels of an image after its pixels or before them.
template <class T>
void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& sharedTmpBuffer,
               const TransposeParamsExt& params, Place at = Place::here()) {
  const auto [n, c, h, w, type] = params;
  if (type == TransposeType::TRANSPOSE_ND2ND_B16) {
    if constexpr (sizeof(T) == 2) return Transpose(dst, src, at);
  }
  detail::temporary("Transpose", sharedTmpBuffer, at);
  Instruction instruction("Transpose", PIPE_V, at);
  const bool to_last = type == TransposeType::TRANSPOSE_NCHW2NHWC;
  instruction.requires_that(to_last || type == TransposeType::TRANSPOSE_NHWC2NCHW, "transposeType",
                            static_cast<int>(type),
                            "TRANSPOSE_NCHW2NHWC, TRANSPOSE_NHWC2NCHW, or TRANSPOSE_ND2ND_B16 of 2 bytes");
  const uint32_t places = uint32_t{h} * w, image = places * c;
  const uint32_t rows = to_last ? c : places, columns = to_last ? places : c;
  detail::rearranged(instruction, n * image, dst, src, [=](uint32_t i) {
    const uint32_t within = i % image;
    return i - within + within % rows * columns + within / rows;
  });
}

template <class T>
void TransDataTo5HD(const LocalTensor<T> (&dst)[16], const LocalTensor<T> (&src)[16],
                    const TransDataTo5HDParams& params, Place at = Place::here()) {
  Instruction instruction("TransDataTo5HD", PIPE_V, at);
  detail::to_5hd(instruction, dst, src, params);
}

namespace detail {

// What an address of local memory belongs to, for so many bytes as the instruction moves at a time.
template <class T, class Address>
LocalTensor<T> block_at(Address address) {
  auto* const start = reinterpret_cast<uint8_t*>(address);
  const Local memory = opbridge_ascend::local_memory_at(start);
  return LocalTensor<T>(memory, static_cast<uint32_t>(start - memory.data), kBlockBytes / sizeof(T));
}

}  // namespace detail

// With addresses, as GetPhyAddr returns them.
template <class T, class Address>
void TransDataTo5HD(const Address (&dst)[16], const Address (&src)[16], const TransDataTo5HDParams& params,
                    Place at = Place::here()) {
  LocalTensor<T> to[16], from[16];
  for (uint32_t i = 0; i < 16; ++i) {
    to[i] = detail::block_at<T>(dst[i]);
    from[i] = detail::block_at<T>(src[i]);
  }
  TransDataTo5HD(to, from, params, at);
}
// The same with pointers: some kernels call the implementation directly.
template <class T>
void TransDataTo5HDImpl(__ubuf__ T* const (&dst)[16], __ubuf__ T* const (&src)[16], const TransDataTo5HDParams& params,
                        Place at = Place::here()) {
  TransDataTo5HD<T>(dst, src, params, at);
}

}  // namespace AscendC
#endif

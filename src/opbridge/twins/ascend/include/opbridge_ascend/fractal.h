// Where the elements of a matrix lie: the matrix unit takes it in fractals of 512 bytes, 16 rows of 32 bytes each.
//
// Of a name like zN, the first letter says how the elements of a fractal follow each other, the second how the fractals
// do: z by rows, n by columns.
#ifndef OPBRIDGE_ASCEND_FRACTAL_H
#define OPBRIDGE_ASCEND_FRACTAL_H

#include <stdint.h>

#include <vector>

#include "copy.h"

namespace AscendC {
namespace detail {

constexpr uint32_t kFractalBytes = 512;
constexpr uint32_t kSide = 16;

// Elements of 32 bytes, which is a fractal's row.
template <class T>
constexpr uint32_t kRow = kBlockBytes / sizeof(T);

constexpr uint32_t divided_up(uint32_t n, uint32_t by) { return (n + by - 1) / by; }
constexpr uint32_t rounded_up(uint32_t n, uint32_t to) { return divided_up(n, to) * to; }

// A left matrix in L0A: fractals of 16 rows, zZ.
template <class T>
uint32_t in_left(uint32_t row, uint32_t k, uint32_t ks) {
  const uint32_t fractal = row / kSide * divided_up(ks, kRow<T>) + k / kRow<T>;
  return fractal * kSide * kRow<T> + row % kSide * kRow<T> + k % kRow<T>;
}

// A right matrix in L0B: fractals of 16 columns, nZ.
template <class T>
uint32_t in_right(uint32_t k, uint32_t column, uint32_t columns) {
  const uint32_t fractal = k / kRow<T> * divided_up(columns, kSide) + column / kSide;
  return fractal * kSide * kRow<T> + column % kSide * kRow<T> + k % kRow<T>;
}

// A matrix in columns of fractals, zN, that are `width` elements wide: 16 in L0C, 32 bytes elsewhere.
inline uint32_t in_columns(uint32_t row, uint32_t column, uint32_t rows, uint32_t width) {
  return column / width * rounded_up(rows, kSide) * width + row * width + column % width;
}

}  // namespace detail

// Rows of a matrix in global memory become columns of fractals.
struct Nd2NzParams {
  uint16_t ndNum = 0, nValue = 0, dValue = 0;
  uint32_t srcNdMatrixStride = 0, srcDValue = 0;
  uint16_t dstNzC0Stride = 0, dstNzNStride = 0;
  uint32_t dstNzMatrixStride = 0;

  Nd2NzParams() = default;
  Nd2NzParams(uint16_t matrices, uint16_t rows, uint16_t columns, uint32_t src_matrix, uint32_t src_row,
              uint16_t dst_column, uint16_t dst_row, uint32_t dst_matrix)
      : ndNum(matrices),
        nValue(rows),
        dValue(columns),
        srcNdMatrixStride(src_matrix),
        srcDValue(src_row),
        dstNzC0Stride(dst_column),
        dstNzNStride(dst_row),
        dstNzMatrixStride(dst_matrix) {}
};

namespace detail {

// begin(from, bytes) is called for each row that is read.
template <class T, class Begin>
void into_fractals(Instruction& instruction, const LocalTensor<T>& dst, const T* src, const Nd2NzParams& p,
                   Begin begin) {
  constexpr uint32_t kWidth = kRow<T>;
  instruction.aligned(dst.start(), "dst");
  instruction.requires_that(p.nValue <= 16384, "nValue", p.nValue, "at most 16384 rows");
  instruction.requires_that(p.dstNzC0Stride >= 1 && p.dstNzC0Stride <= 16384, "dstNzC0Stride", p.dstNzC0Stride,
                            "1 to 16384 rows of 32 bytes from one column of fractals to the next");
  for (uint32_t i = 0; i < p.ndNum; ++i) {
    for (uint32_t row = 0; row < p.nValue; ++row) {
      const T* const from = src + size_t{i} * p.srcNdMatrixStride + size_t{row} * p.srcDValue;
      begin(from, p.dValue * sizeof(T));
      for (uint32_t column = 0; column < p.dValue; column += kWidth) {
        const uint32_t fractal_row = column / kWidth * p.dstNzC0Stride + row * p.dstNzNStride;
        T* const to = dst.data() + size_t{i} * p.dstNzMatrixStride + size_t{fractal_row} * kWidth;
        instruction.writes(dst.memory(), to, kBlockBytes);
        // After the last column, the row of a fractal is filled with zeros.
        for (uint32_t j = 0; j < kWidth; ++j) to[j] = column + j < p.dValue ? from[column + j] : T(0);
      }
    }
  }
}

}  // namespace detail

template <class T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const Nd2NzParams& p, Place at = Place::here()) {
  Instruction instruction("DataCopy", PIPE_MTE2, at);
  detail::into_fractals(instruction, dst, src.data(), p,
                        [&](const T* from, size_t bytes) { instruction.reads(src.memory(), from, bytes); });
}

// Copies from the unified buffer to L1, through global memory that the kernel does not see.
template <class T>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const Nd2NzParams& p, Place at = Place::here()) {
  Instruction instruction("DataCopy", PIPE_MTE3, at);
  instruction.aligned(src.start(), "src");
  detail::into_fractals(instruction, dst, src.data(), p,
                        [&](const T* from, size_t bytes) { instruction.reads(src.memory(), from, bytes); });
}

// The same, where `copied` puts the rows that `p` takes.
template <class T>
void DataCopyPad(const LocalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyExtParams& copied,
                 const Nd2NzParams& p, Place at = Place::here()) {
  Instruction instruction("DataCopyPad", PIPE_MTE3, at);
  instruction.aligned(src.start(), "src");
  const size_t apart = size_t{copied.blockLen} + copied.dstStride;
  std::vector<uint8_t> between(copied.blockCount * apart);
  const auto* const bytes = reinterpret_cast<const uint8_t*>(src.data());
  for (uint32_t i = 0; i < copied.blockCount; ++i) {
    const uint8_t* const from =
        bytes + i * (size_t{detail::rounded_up(copied.blockLen, uint32_t{detail::kBlockBytes})} +
                     copied.srcStride * detail::kBlockBytes);
    instruction.reads(src.memory(), from, copied.blockLen);
    memcpy(between.data() + i * apart, from, copied.blockLen);
  }
  const auto* const rows = reinterpret_cast<const T*>(between.data());
  detail::into_fractals(instruction, dst, rows, p, [&](const T* from, size_t size) {
    const size_t end = reinterpret_cast<const uint8_t*>(from) - between.data() + size;
    instruction.requires_that(end <= between.size(), "nd2nzParams end", static_cast<long long>(end),
                              "within the bytes that dataCopyParams copy");
  });
}

}  // namespace AscendC
#endif

// LoadData of images: the windows of a convolution become the rows of a matrix, in L0A or L0B.
#ifndef OPBRIDGE_ASCEND_IMAGE_H
#define OPBRIDGE_ASCEND_IMAGE_H

#include "fractal.h"

namespace AscendC {

// An image in L1 lies as [channels / 32 bytes, height, width, 32 bytes].  A row of the matrix is a place of the window,
// row by row; a column is a channel of a pixel of it: 32 bytes of channels for each pixel of the window in turn, then
// the next 32 bytes of channels.  A window of one pixel copies a matrix in columns of fractals.
template <class T>
struct LoadData3DParamsV2 {
  uint8_t padList[4] = {0, 0, 0, 0};  // left, right, top, bottom
  uint16_t l1H = 0, l1W = 0, channelSize = 0;
  uint16_t kExtension = 0, mExtension = 0, kStartPt = 0, mStartPt = 0;
  uint8_t strideW = 1, strideH = 1, filterW = 1, filterH = 1, dilationFilterW = 1, dilationFilterH = 1;
  bool enTranspose = false, enSmallK = false;
  T padValue = T(0);
  bool filterSizeW = false, filterSizeH = false;  // 256 more than filterW and filterH
  bool fMatrixCtrl = false;

  LoadData3DParamsV2() = default;
  LoadData3DParamsV2(const uint8_t (&padding)[4], uint16_t height, uint16_t width, uint16_t channels, uint16_t columns,
                     uint16_t rows, uint16_t first_column, uint16_t first_row, uint8_t stride_w, uint8_t stride_h,
                     uint8_t filter_w, uint8_t filter_h, uint8_t dilation_w, uint8_t dilation_h, bool transpose,
                     bool small_k, T value)
      : padList{padding[0], padding[1], padding[2], padding[3]},
        l1H(height),
        l1W(width),
        channelSize(channels),
        kExtension(columns),
        mExtension(rows),
        kStartPt(first_column),
        mStartPt(first_row),
        strideW(stride_w),
        strideH(stride_h),
        filterW(filter_w),
        filterH(filter_h),
        dilationFilterW(dilation_w),
        dilationFilterH(dilation_h),
        enTranspose(transpose),
        enSmallK(small_k),
        padValue(value) {}
};

// Whether an instruction sets the size of the image and its padding itself.
struct IsResetLoad3dConfig {
  bool isSetFMatrix = true, isSetPadding = true;
};
inline constexpr IsResetLoad3dConfig IS_RESER_LOAD3D_DEFAULT_CONFIG = {true, true};

namespace detail {

// How many places a window has along a side.
inline uint32_t places(uint32_t length, uint32_t before, uint32_t behind, uint32_t filter, uint32_t dilation,
                       uint32_t stride) {
  const uint32_t window = dilation * (filter - 1) + 1, padded = length + before + behind;
  return stride == 0 || padded < window ? 0 : (padded - window) / stride + 1;
}

// The pixels that the rows and columns of the matrix are of.
template <class T>
class Windows {
 public:
  explicit Windows(const LoadData3DParamsV2<T>& p)
      : p_(p), filter_w_(p.filterW + p.filterSizeW * 256u), filter_h_(p.filterH + p.filterSizeH * 256u) {}

  uint32_t across() const {
    return places(p_.l1W, p_.padList[0], p_.padList[1], filter_w_, p_.dilationFilterW, p_.strideW);
  }
  uint32_t down() const {
    return places(p_.l1H, p_.padList[2], p_.padList[3], filter_h_, p_.dilationFilterH, p_.strideH);
  }
  // The offset of the 32 bytes at a row and a column that begins such a piece; -1 for padding.
  int64_t offset(uint32_t row, uint32_t column) const {
    const uint32_t piece = column / kRow<T>, in_window = piece % (filter_w_ * filter_h_);
    const int64_t y =
        int64_t{row / across()} * p_.strideH - p_.padList[2] + int64_t{in_window / filter_w_} * p_.dilationFilterH;
    const int64_t x =
        int64_t{row % across()} * p_.strideW - p_.padList[0] + int64_t{in_window % filter_w_} * p_.dilationFilterW;
    if (y < 0 || y >= p_.l1H || x < 0 || x >= p_.l1W) return -1;
    return ((int64_t{piece / (filter_w_ * filter_h_)} * p_.l1H + y) * p_.l1W + x) * kRow<T>;
  }

 private:
  const LoadData3DParamsV2<T>& p_;
  uint32_t filter_w_, filter_h_;
};

// Where an element of the matrix goes.
template <class T>
uint32_t in_matrix(bool is_left, bool transposes, uint32_t row, uint32_t column, const LoadData3DParamsV2<T>& p) {
  if (!is_left) return in_right<T>(row, column, p.kExtension);
  return transposes ? in_left<T>(column, row, p.mExtension) : in_left<T>(row, column, p.kExtension);
}

}  // namespace detail

template <class T, const IsResetLoad3dConfig& config = IS_RESER_LOAD3D_DEFAULT_CONFIG>
void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData3DParamsV2<detail::Exactly<T>>& p,
              Place at = Place::here()) {
  static_assert(config.isSetFMatrix && config.isSetPadding,
                "opbridge's Ascend twin takes the size of an image and its padding from LoadData3DParamsV2 alone");
  Instruction instruction("LoadData", PIPE_MTE1, at);
  instruction.aligned(dst.start(), "dst", detail::kFractalBytes);
  instruction.aligned(src.start(), "src");
  const bool is_left = opbridge_ascend::position_of(dst.memory()) == TPosition::A2;
  const detail::Windows<T> windows(p);
  const uint32_t rows = windows.across() * windows.down(), last = p.mStartPt + uint32_t{p.mExtension};
  instruction.requires_that(last <= detail::rounded_up(rows, detail::kSide), "mStartPt + mExtension", last,
                            "at most as many rows as the window has places, rounded up to 16");
  for (uint32_t row = 0; row < p.mExtension && p.mStartPt + row < rows; ++row) {
    for (uint32_t column = 0; column < p.kExtension; ++column) {
      const uint32_t from = p.kStartPt + column, within = from % detail::kRow<T>;
      const int64_t offset = windows.offset(p.mStartPt + row, from);
      T* const to = dst.data() + detail::in_matrix(is_left, p.enTranspose, row, column, p);
      if (offset >= 0) instruction.reads(src.memory(), src.data() + offset + within, sizeof(T));
      instruction.writes(dst.memory(), to, sizeof(T));
      *to = offset < 0 ? T(p.padValue) : src.data()[offset + within];
    }
  }
}

}  // namespace AscendC
#endif

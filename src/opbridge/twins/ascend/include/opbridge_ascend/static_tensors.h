// Tensors at addresses of the kernel's own choice, instead of TPipe's: static tensor programming.
#ifndef OPBRIDGE_ASCEND_STATIC_TENSORS_H
#define OPBRIDGE_ASCEND_STATIC_TENSORS_H

#include "tensor.h"

namespace AscendC {

enum class Hardware : uint8_t { GM, UB, L1, L0A, L0B, L0C, BIAS, FIXBUF, MAX };

namespace detail {

// Where a tensor is that only its memory is said of.
constexpr TPosition position_in(Hardware hardware) {
  switch (hardware) {
    case Hardware::L1:
      return TPosition::A1;
    case Hardware::L0A:
      return TPosition::A2;
    case Hardware::L0B:
      return TPosition::B2;
    case Hardware::L0C:
      return TPosition::CO1;
    case Hardware::BIAS:
      return TPosition::C2;
    default:
      return TPosition::VECCALC;
  }
}

}  // namespace detail

// Allocates tensors one after the other from the start of a memory, and never frees them.
template <Hardware hard = Hardware::UB>
class LocalMemAllocator {
  static_assert(hard != Hardware::GM && hard != Hardware::FIXBUF && hard != Hardware::MAX,
                "opbridge's Ascend twin has LocalMemAllocator for UB, L1, L0A, L0B, L0C and BIAS");

 public:
  uint32_t GetCurAddr() const { return next_; }
  template <TPosition pos, class T>
  LocalTensor<T> Alloc(uint32_t tileSize, Place at = Place::here()) {
    const LocalTensor<T> made(pos, next_, tileSize, at);
    next_ += (made.GetLength() + opbridge_ascend::kBlockBytes - 1) / opbridge_ascend::kBlockBytes *
             opbridge_ascend::kBlockBytes;
    return made;
  }
  template <class T>
  LocalTensor<T> Alloc(uint32_t tileSize, Place at = Place::here()) {
    return Alloc<detail::position_in(hard), T>(tileSize, at);
  }
  template <TPosition pos, class T, uint32_t tileSize>
  LocalTensor<T> Alloc(Place at = Place::here()) {
    return Alloc<pos, T>(tileSize, at);
  }
  template <class T, uint32_t tileSize>
  LocalTensor<T> Alloc(Place at = Place::here()) {
    return Alloc<detail::position_in(hard), T>(tileSize, at);
  }

 private:
  uint32_t next_ = 0;
};

}  // namespace AscendC
#endif

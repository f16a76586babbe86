// Code for all kernels: the part of the work of a block, and copies of any length.
#ifndef ASCEND_WITHOUT_NPU_COMMON_H
#define ASCEND_WITHOUT_NPU_COMMON_H

#include "kernel_operator.h"

using namespace AscendC;

constexpr uint32_t kTile = 1024;
constexpr uint32_t kUnit = 32;

// The share of a block of n items, in groups that belong to one block.
struct Share {
  __aicore__ inline explicit Share(uint32_t n, uint32_t group = 1) {
    const uint32_t groups = (n + group - 1) / group;
    const uint32_t each = (groups + GetBlockNum() - 1) / GetBlockNum() * group;
    begin = each * GetBlockIdx() < n ? each * GetBlockIdx() : n;
    end = begin + each < n ? begin + each : n;
  }
  uint32_t begin, end;
};

template <class T>
__aicore__ inline uint32_t padded(uint32_t n) {
  constexpr uint32_t in_block = kUnit / sizeof(T);
  return (n + in_block - 1) / in_block * in_block;
}

template <class T>
__aicore__ inline void load(const LocalTensor<T>& to, const GlobalTensor<T>& from, uint32_t n) {
  DataCopyPad(to, from, DataCopyExtParams{1, static_cast<uint32_t>(n * sizeof(T)), 0, 0, 0},
              DataCopyPadExtParams<T>{false, 0, 0, T(0)});
}

template <class T>
__aicore__ inline void store(const GlobalTensor<T>& to, const LocalTensor<T>& from, uint32_t n) {
  DataCopyPad(to, from, DataCopyExtParams{1, static_cast<uint32_t>(n * sizeof(T)), 0, 0, 0});
}

// Vector instructions compute in float: other types are converted when they are read and written.
template <class T>
__aicore__ inline void to_float(const LocalTensor<float>& to, const LocalTensor<T>& from, uint32_t n) {
  if constexpr (sizeof(T) == sizeof(float)) {
    Adds(to, from, 0.0f, n);
  } else {
    Cast(to, from, RoundMode::CAST_NONE, n);
  }
}

template <class T>
__aicore__ inline void from_float(const LocalTensor<T>& to, const LocalTensor<float>& from, uint32_t n) {
  if constexpr (sizeof(T) == sizeof(float)) {
    Adds(to, from, 0.0f, n);
  } else {
    Cast(to, from, RoundMode::CAST_RINT, n);
  }
}

// The scalar unit must wait for values of the vector unit, and the vector unit for those of the scalar unit.
template <HardEvent event>
__aicore__ inline void order() {
  const auto id = static_cast<event_t>(GetTPipePtr()->FetchEventID(event));
  SetFlag<event>(id);
  WaitFlag<event>(id);
}

#endif

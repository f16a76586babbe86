// The grid of a formula's kernel on an Ascend NPU, passed by value.
#ifndef OPBRIDGE_NPU_VIEW_H
#define OPBRIDGE_NPU_VIEW_H

#include <kernel_operator.h>
#include <opbridge/half.h>
#include <stdint.h>

namespace ob {
namespace [[gnu::visibility("hidden")]] npu {

constexpr int max_rank = 6;

// The element type by which Ascend C knows one of C++.
template <class T>
struct Known {
  using type = T;
};
template <>
struct Known<ob::half> {
  using type = ::half;
};
template <>
struct Known<ob::bfloat16> {
  using type = ::bfloat16_t;
};
// Refused before anything is launched.
template <>
struct Known<double> {
  using type = float;
};
template <class T>
using Element = typename Known<T>::type;

// The rows of N tensors.  Vector instructions go along `lanes`, the last dimension: part of a row, or adjacent
// rows.  All other dimensions count groups of rows (before `n_outer`) and steps within a group.
template <int N>
struct View {
  // The place of an operand's elements; strides count elements.
  struct Placed {
    int64_t strides[max_rank];
    int64_t lane_stride;
    int64_t numel;
    int64_t parts;        // of a sum that several rows add to: where the blocks' own sums begin in the workspace
    int64_t part_stride;  // from one block's to the next one's
    bool is_shared;
  };

  int64_t groups, steps, lanes, tiles;
  int64_t exchange;  // where blocks that share a row meet in the workspace, in floats
  int64_t kept;      // where the sums of scans begin there
  int64_t sizes[max_rank];
  int32_t n_outer, rank;
  uint32_t tile, loaded_bytes;  // lanes of a vector; bytes of a buffer that is loaded into
  bool is_across;               // a lane is a row
  bool is_whole;                // all blocks share each row
  bool is_strided;              // some tensor's lanes lie apart
  Placed operands[N];
};

}  // namespace npu
}  // namespace ob
#endif

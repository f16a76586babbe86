// PyTorch's header of this name, with the function that it only declares.
#ifndef OPBRIDGE_TWIN_ATEN_CUDA_DETAIL_INDEX_UTILS_CUH
#define OPBRIDGE_TWIN_ATEN_CUDA_DETAIL_INDEX_UTILS_CUH

#include_next <ATen/cuda/detail/IndexUtils.cuh>
#include <algorithm>
#include <utility>
#include <vector>

namespace at::cuda::detail {

// Each step has to be longer than all the shorter ones together.
inline bool maybeOverlappingIndices(const at::TensorBase& tensor) {
  std::vector<std::pair<int64_t, int64_t>> steps;
  for (int64_t i = 0; i < tensor.dim(); ++i) {
    if (tensor.size(i) > 1) steps.emplace_back(tensor.stride(i), tensor.size(i));
  }
  std::sort(steps.begin(), steps.end());
  int64_t reached = 0;
  for (const auto& [stride, size] : steps) {
    if (stride <= reached) return true;
    reached += (size - 1) * stride;
  }
  return false;
}

}  // namespace at::cuda::detail

#endif

// Functions that `size` expressions of the sample backend name.
#pragma once

#include <ATen/ExpandUtils.h>

namespace sample::native {

inline std::vector<int64_t> broadcast_size(const at::Tensor& left, const at::Tensor& right) {
  return at::infer_size(left.sizes(), right.sizes());
}

}  // namespace sample::native

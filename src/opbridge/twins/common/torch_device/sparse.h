// Sparse tensors by the dense ones that they consist of.
#ifndef OPBRIDGE_TORCH_DEVICE_SPARSE_H
#define OPBRIDGE_TORCH_DEVICE_SPARSE_H

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

namespace opbridge::simulated {

using ForPart = c10::function_ref<at::Tensor(const at::Tensor&)>;

// A sparse tensor of a device, from one like it and something for each of its parts, of that device.
at::Tensor sparse_like(const at::Tensor& tensor, c10::Device device, ForPart part);
// Makes one of them consist of something for each part of the other.
void set_parts(const at::Tensor& tensor, const at::Tensor& like, ForPart part);

}  // namespace opbridge::simulated

#endif

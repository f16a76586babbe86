#include "gradients.h"

#include <ATen/ATen.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/autograd.h>

#include "device.h"
#include "row.h"

namespace opbridge::simulated {

void await_gradients() {
  // Each does one thing after another, and nothing of this pass is an object of Python's, which it would release late.
  const at::AutoGradMode with_gradients(true);
  for (c10::DeviceIndex index = 0; index < device_count(); ++index) {
    const at::Tensor leaf = at::empty({0}, c10::Device(kDevice, index)).requires_grad_();
    torch::autograd::backward({leaf.alias()}, {leaf.detach()});
  }
}

}  // namespace opbridge::simulated

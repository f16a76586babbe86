#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <acl/acl.h>
#include <torch/csrc/utils/pybind.h>

#include "aclrtlaunch_muladd.h"
#include "torch_npu/csrc/core/npu/DeviceUtils.h"
#include "torch_npu/csrc/core/npu/NPUCachingAllocator.h"
#include "torch_npu/csrc/core/npu/NPUEvent.h"
#include "torch_npu/csrc/core/npu/NPUGuard.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"
#include "torch_npu/csrc/core/npu/NPUWorkspaceAllocator.h"
#include "torch_npu/csrc/framework/OpCommand.h"

namespace {

constexpr uint32_t kBlocks = 4;

at::Tensor muladd(const at::Tensor& x, const at::Tensor& y) {
  TORCH_CHECK(torch_npu::utils::is_npu(x), "expected a tensor of an npu");
  const c10_npu::NPUGuard guard(x.device());
  at::Tensor z = at::empty_like(x);
  const auto stream = c10_npu::getCurrentNPUStream().stream(false);
  at_npu::native::OpCommand command;
  command.Name("muladd")
      .SetCustomHandler([=]() -> int {
        return ACLRT_LAUNCH_KERNEL(muladd)(kBlocks, stream, const_cast<void*>(x.storage().data()),
                                           const_cast<void*>(y.storage().data()), const_cast<void*>(z.storage().data()),
                                           static_cast<uint32_t>(x.numel()));
      })
      .Run();
  return z;
}

// By way of acl: device to device, then to the host.
float first_of_copy(const at::Tensor& x) {
  void* const copy = c10_npu::NPUCachingAllocator::raw_alloc(x.nbytes());
  c10_npu::NPUEvent event;
  event.record();
  aclrtMemcpy(copy, x.nbytes(), x.data_ptr(), x.nbytes(), ACL_MEMCPY_DEVICE_TO_DEVICE);
  event.synchronize();
  float first = 0;
  aclrtMemcpy(&first, sizeof first, copy, sizeof first, ACL_MEMCPY_DEVICE_TO_HOST);
  c10_npu::NPUCachingAllocator::raw_delete(copy);
  return first;
}

int64_t workspace(uint64_t bytes) {
  return at_npu::native::allocate_workspace(bytes, c10_npu::getCurrentNPUStream()).numel();
}

}  // namespace

PYBIND11_MODULE(muladd, m) {
  m.def("muladd", &muladd);
  m.def("first_of_copy", &first_of_copy);
  m.def("workspace", &workspace);
}

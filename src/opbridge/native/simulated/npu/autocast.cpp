// torch.autocast("npu"): PyTorch's own lists of what runs in which precision.
#include <ATen/autocast_mode.h>
#include <torch/library.h>

namespace at::autocast {

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
#define OPBRIDGE_IN_HALF(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define OPBRIDGE_IN_FLOAT(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define OPBRIDGE_IN_GIVEN_TYPE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define OPBRIDGE_IN_WIDEST(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)
  AT_FORALL_LOWER_PRECISION_FP(OPBRIDGE_IN_HALF)
  AT_FORALL_FP32(OPBRIDGE_IN_FLOAT)
  AT_FORALL_FP32_SET_OPT_DTYPE(OPBRIDGE_IN_GIVEN_TYPE)
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
  AT_FORALL_PROMOTE(OPBRIDGE_IN_WIDEST)
}

}  // namespace at::autocast

// The scaled complementary error function, which MindSpore lacks, made of PyTorch operators.
#include <torch/extension.h>

#include "ms_ext.h"

extern "C" int Erfcx(int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes, void* stream,
                     void* extra) {
  auto tensors = get_torch_tensors(nparam, params, ndims, shapes, dtypes, c10::kCPU);
  torch::special_erfcx_out(tensors[1], tensors[0]);
  return 0;
}

// d/dx erfcx(x) = 2 x erfcx(x) - 2 / sqrt(pi)
extern "C" int ErfcxGrad(int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes, void* stream,
                         void* extra) {
  auto tensors = get_torch_tensors(nparam, params, ndims, shapes, dtypes, c10::kCPU);
  auto &x = tensors[0], &y = tensors[1], &grad = tensors[2];
  tensors[3].copy_(2 * grad * (x * y - 1 / std::sqrt(M_PI)));
  return 0;
}

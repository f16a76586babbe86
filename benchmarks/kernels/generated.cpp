// The kernels of peers.cpp, for the sources that `opbridge codegen` makes.
#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>
#include <ATen/ops/empty_like.h>

#include "Kernels.h"

namespace bench_generated::native {
namespace {

template <class F>
at::Tensor map_floats(const at::Tensor& like, const F& f) {
  at::Tensor out = at::empty_like(like);
  float* to = out.mutable_data_ptr<float>();
  at::parallel_for(0, out.numel(), at::internal::GRAIN_SIZE, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = f(i);
  });
  return out;
}

}  // namespace

at::Tensor leaky_relu(const at::Tensor& x, double slope) {
  TORCH_CHECK(x.scalar_type() == at::kFloat && x.is_contiguous(), "expected contiguous floats");
  const float* from = x.const_data_ptr<float>();
  const float below = static_cast<float>(slope);
  return map_floats(x, [=](int64_t i) { return from[i] > 0 ? from[i] : from[i] * below; });
}

at::Tensor leaky_relu_backward(const at::Tensor& grad, const at::Tensor& x, double slope) {
  TORCH_CHECK(grad.is_contiguous() && x.is_contiguous(), "expected contiguous floats");
  const float* of_grad = grad.const_data_ptr<float>();
  const float* from = x.const_data_ptr<float>();
  const float below = static_cast<float>(slope);
  return map_floats(x, [=](int64_t i) { return from[i] > 0 ? of_grad[i] : of_grad[i] * below; });
}

}  // namespace bench_generated::native

// Kernels in terms of PyTorch's operators: what is under test is what was generated around them.
#include "Kernels.h"

#include <ATen/ATen.h>

namespace graded::native {

at::Tensor scaled(const at::Tensor& x, double by) { return x * by; }
at::Tensor cube(const at::Tensor& x) { return x * x * x; }
at::Tensor product(const at::Tensor& x, const at::Tensor& y) { return x * y; }
at::Tensor exponential(const at::Tensor& x) { return x.exp(); }
::std::tuple<at::Tensor, at::Tensor> sine_cosine(const at::Tensor& x) { return {x.sin(), x.cos()}; }
::std::tuple<at::Tensor, at::Tensor> top(const at::Tensor& x, int64_t k) { return x.topk(k); }
at::Tensor square(const at::Tensor& x) { return x * x; }
at::Tensor& square_(at::Tensor& x) { return x.mul_(x.clone()); }
at::Tensor& clip_(at::Tensor& x, double low) { return x.clamp_min_(low); }
at::Tensor rows_symint(const at::Tensor& x, c10::SymInt n) { return x.slice_symint(0, 0, n); }

at::Tensor joined(at::TensorList xs, const ::std::optional<at::Tensor>& scale, c10::string_view mode) {
  auto sum = at::zeros({}, xs[0].options());
  for (const auto& x : xs) sum = sum + x.sum();
  if (mode == "twice") sum = sum * 2;
  return scale ? sum * *scale : sum;
}

::std::vector<at::Tensor> parts_symint(const at::Tensor& x, c10::SymIntArrayRef sizes) {
  ::std::vector<at::Tensor> made;
  for (const auto& part : x.split_with_sizes_symint(sizes)) made.push_back(part.clone());
  return made;
}

at::Tensor picked(const at::Tensor& x, const at::Tensor& index) { return x.index_select(0, index); }

at::Tensor cube_of(const at::Tensor& x, ::std::optional<double> unused) { return x * x * x; }

::std::tuple<at::Tensor, int64_t, ::std::vector<int64_t>> folded(const at::Tensor& x, at::OptionalIntArrayRef shape) {
  const int64_t factor = 3;
  return {x.reshape(shape.value_or(at::IntArrayRef({-1}))) * factor * (shape ? 1 : 2), factor, x.sizes().vec()};
}

::std::tuple<at::Tensor, at::Tensor, at::Tensor> product_parts(const at::Tensor& gradient, const at::Tensor& x,
                                                               const at::Tensor& y) {
  return {gradient * y, gradient * x, gradient};
}

at::Tensor named_as_ours(const at::Tensor& grad, const at::Tensor& wanted, double node, double keys) {
  return grad * wanted * node * keys;
}

at::Tensor root(const at::Tensor& x, bool upper) { return at::linalg_cholesky(x, upper); }

}  // namespace graded::native

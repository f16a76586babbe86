// The cell with PyTorch operators, as an extension.  Only `backward` defines its gradient.
#include <torch/extension.h>

#include <tuple>

using at::Tensor;

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> forward(const Tensor& x, const Tensor& h, const Tensor& c,
                                                                   const Tensor& weights, const Tensor& bias) {
  const Tensor z = at::cat({h, x}, 1);
  const auto sums = at::addmm(bias, z, weights.t()).chunk(3, 1);
  const Tensor in = at::sigmoid(sums[0]), out = at::sigmoid(sums[1]), candidate = at::elu(sums[2]);
  const Tensor new_c = at::addcmul(c, in, candidate);
  const Tensor new_h = out * at::tanh(new_c);
  return {new_h, new_c, in, out, candidate, z};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> backward(const Tensor& grad_h, const Tensor& grad_c,
                                                            const Tensor& new_c, const Tensor& in, const Tensor& out,
                                                            const Tensor& candidate, const Tensor& z,
                                                            const Tensor& weights) {
  const Tensor t = at::tanh(new_c);
  const Tensor d_c = grad_c + at::tanh_backward(grad_h * out, t);
  const Tensor d_in = at::sigmoid_backward(d_c * candidate, in);
  const Tensor d_out = at::sigmoid_backward(grad_h * t, out);
  const Tensor d_candidate = at::elu_backward(d_c * in, 1, 1, 1, /*is_result=*/true, candidate);
  const Tensor d_sums = at::cat({d_in, d_out, d_candidate}, 1);
  const Tensor d_z = at::mm(d_sums, weights);
  const int64_t state = new_c.size(1);
  return {d_z.slice(1, state), d_z.slice(1, 0, state), d_c, at::mm(d_sums.t(), z), d_sums.sum(0)};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", &forward);
  m.def("backward", &backward);
}

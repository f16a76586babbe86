#include <torch/extension.h>

#include <vector>

// One step of a recurrent cell with a gate: what it keeps of its state, and what it puts in its place.
std::vector<torch::Tensor> forward(const torch::Tensor& x, const torch::Tensor& state, const torch::Tensor& weights) {
  auto sums = torch::mm(torch::cat({x, state}, 1), weights.t()).chunk(2, 1);
  auto keep = torch::sigmoid(sums[0]), fresh = torch::tanh(sums[1]);
  return {keep * state + (1 - keep) * fresh, keep, fresh};
}

std::vector<torch::Tensor> backward(const torch::Tensor& grad, const torch::Tensor& x, const torch::Tensor& state,
                                    const torch::Tensor& weights, const torch::Tensor& keep,
                                    const torch::Tensor& fresh) {
  auto of_keep = grad * (state - fresh) * keep * (1 - keep);
  auto of_fresh = grad * (1 - keep) * (1 - fresh * fresh);
  auto of_sums = torch::cat({of_keep, of_fresh}, 1);
  auto of_joined = torch::mm(of_sums, weights);
  auto of_weights = torch::mm(of_sums.t(), torch::cat({x, state}, 1));
  return {of_joined.narrow(1, 0, x.size(1)), of_joined.narrow(1, x.size(1), state.size(1)) + grad * keep, of_weights};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", &forward);
  m.def("backward", &backward);
}

#include <torch/extension.h>

#include <vector>

// Two gates per unit: how much of the state to keep, and what replaces the rest.
std::vector<torch::Tensor> cell_forward_cuda(torch::Tensor sums, torch::Tensor state);
std::vector<torch::Tensor> cell_backward_cuda(torch::Tensor grad, torch::Tensor keep, torch::Tensor proposal,
                                              torch::Tensor state);

#define CHECK_CUDA(x) TORCH_CHECK(x.device().is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) \
  CHECK_CUDA(x);       \
  CHECK_CONTIGUOUS(x)

std::vector<torch::Tensor> forward(torch::Tensor input, torch::Tensor state, torch::Tensor weights,
                                   torch::Tensor bias) {
  CHECK_INPUT(input);
  CHECK_INPUT(state);
  CHECK_INPUT(weights);
  CHECK_INPUT(bias);
  const auto joined = torch::cat({input, state}, 1);
  const auto sums = torch::addmm(bias, joined, weights.t()).view({state.size(0), 2, state.size(1)});
  auto results = cell_forward_cuda(sums, state);
  results.push_back(joined);
  return results;  // the new state, then the values for backward: keep, proposal, joined
}

std::vector<torch::Tensor> backward(torch::Tensor grad, torch::Tensor keep, torch::Tensor proposal,
                                    torch::Tensor joined, torch::Tensor state, torch::Tensor weights) {
  CHECK_INPUT(grad);
  CHECK_INPUT(keep);
  CHECK_INPUT(proposal);
  CHECK_INPUT(joined);
  CHECK_INPUT(state);
  const auto grads = cell_backward_cuda(grad, keep, proposal, state);
  const auto grad_sums = grads[0].flatten(1, 2);
  const auto grad_joined = grad_sums.mm(weights);
  const auto inputs = joined.size(1) - state.size(1);
  return {grad_joined.slice(1, 0, inputs), grad_joined.slice(1, inputs) + grads[1], grad_sums.t().mm(joined),
          grad_sums.sum(0)};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", &forward, "input, state, weights, bias -> new state, keep, proposal, joined");
  m.def("backward", &backward, "grad, keep, proposal, joined, state, weights -> grads of the inputs");
}

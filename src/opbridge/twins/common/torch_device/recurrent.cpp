// The cells of LSTM and GRU, which PyTorch asks accelerators for as a whole, made of operators of the device.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <torch/library.h>

#include <tuple>

#include "row.h"

namespace opbridge::simulated {
namespace {

using at::Tensor;
using Bias = std::optional<Tensor>;

Tensor biased(const Tensor& gates, const Bias& bias) { return bias && bias->defined() ? gates + *bias : gates; }
Tensor or_zeros(const Bias& grad, const Tensor& like) {
  return grad && grad->defined() ? *grad : like.new_zeros(like.sizes());
}
Tensor sigmoid_slope(const Tensor& y) { return y * (1 - y); }
Tensor tanh_slope(const Tensor& y) { return 1 - y * y; }
Tensor bias_grad(const Tensor& gates, bool has_bias) { return has_bias ? gates.sum(0) : Tensor(); }

std::tuple<Tensor, Tensor, Tensor> lstm_cell(const Tensor& input, const Tensor& hidden, const Tensor& cx,
                                             const Bias& input_bias, const Bias& hidden_bias) {
  const auto gates = (biased(input, input_bias) + biased(hidden, hidden_bias)).chunk(4, 1);
  const Tensor in = gates[0].sigmoid(), forget = gates[1].sigmoid(), cell = gates[2].tanh(), out = gates[3].sigmoid();
  const Tensor cy = forget * cx + in * cell;
  return {out * cy.tanh(), cy, at::cat({in, forget, cell, out}, 1)};
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell_backward(const Bias& grad_hy, const Bias& grad_cy, const Tensor& cx,
                                                      const Tensor& cy, const Tensor& workspace, bool has_bias) {
  const auto gates = workspace.chunk(4, 1);
  const Tensor &in = gates[0], &forget = gates[1], &cell = gates[2], &out = gates[3];
  const Tensor to_hy = or_zeros(grad_hy, cy), shown = cy.tanh();
  const Tensor to_cell = to_hy * out * tanh_slope(shown) + or_zeros(grad_cy, cy);
  const Tensor grad = at::cat({to_cell * cell * sigmoid_slope(in), to_cell * cx * sigmoid_slope(forget),
                               to_cell * in * tanh_slope(cell), to_hy * shown * sigmoid_slope(out)},
                              1);
  return {grad, to_cell * forget, bias_grad(grad, has_bias)};
}

std::tuple<Tensor, Tensor> gru_cell(const Tensor& input, const Tensor& hidden, const Tensor& hx, const Bias& input_bias,
                                    const Bias& hidden_bias) {
  const auto from_input = biased(input, input_bias).chunk(3, 1), from_hidden = biased(hidden, hidden_bias).chunk(3, 1);
  const Tensor reset = (from_input[0] + from_hidden[0]).sigmoid(), keep = (from_input[1] + from_hidden[1]).sigmoid();
  const Tensor fresh = (from_input[2] + reset * from_hidden[2]).tanh();
  return {fresh + keep * (hx - fresh), at::cat({reset, keep, fresh, hx, from_hidden[2]}, 1)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> gru_cell_backward(const Tensor& grad_hy, const Tensor& workspace,
                                                                     bool has_bias) {
  const auto parts = workspace.chunk(5, 1);
  const Tensor &reset = parts[0], &keep = parts[1], &fresh = parts[2], &hx = parts[3], &hidden = parts[4];
  const Tensor to_keep = grad_hy * (hx - fresh) * sigmoid_slope(keep);
  const Tensor to_fresh = grad_hy * (1 - keep) * tanh_slope(fresh);
  const Tensor to_reset = to_fresh * hidden * sigmoid_slope(reset);
  const Tensor to_input = at::cat({to_reset, to_keep, to_fresh}, 1);
  const Tensor to_hidden = at::cat({to_reset, to_keep, to_fresh * reset}, 1);
  return {to_input, to_hidden, grad_hy * keep, bias_grad(to_input, has_bias), bias_grad(to_hidden, has_bias)};
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, OPBRIDGE_KEY, m) {
  m.impl("_thnn_fused_lstm_cell", lstm_cell);
  m.impl("_thnn_fused_lstm_cell_backward_impl", lstm_cell_backward);
  m.impl("_thnn_fused_gru_cell", gru_cell);
  m.impl("_thnn_fused_gru_cell_backward", gru_cell_backward);
}

}  // namespace opbridge::simulated

// cuDNN's batch normalization, its statistics over a channel or over each element of a sample by itself.
//
// Reference: Ioffe and Szegedy, Batch Normalization (arXiv 1502.03167), algorithm 1 and the gradients in section 3.
#include <cmath>

#include "tensors.h"

using namespace opbridge_twin::dnn;

namespace {

Sizes sizes_of_parameters(const Shape& x, cudnnBatchNormMode_t mode) {
  Sizes sizes = x.sizes;
  sizes[0] = 1;
  for (int i = 2; i < kRank && mode != CUDNN_BATCHNORM_PER_ACTIVATION; ++i) sizes[i] = 1;
  return sizes;
}

// A sum for each parameter over the elements that it is for.
template <class F>
std::vector<double> sums(const Shape& x, const Shape& parameters, F term) {
  std::vector<double> all(parameters.count());
  each(x.sizes, [&](const Sizes& i) { all[parameters.number(clamped(i, parameters.sizes))] += term(i); });
  return all;
}

// The memory of a parameter, without a conversion.
struct Parameter : Target {
  Parameter(const Shape& shape, void* data) : Target(nullptr, nullptr, shape, data), given(data) {}
  bool is_asked_for() const { return given != nullptr; }
  void* given;
};

}  // namespace

cudnnStatus_t cudnnDeriveBNTensorDescriptor(cudnnTensorDescriptor_t derived, cudnnTensorDescriptor_t x_tensor,
                                            cudnnBatchNormMode_t mode) {
  if (derived == nullptr || !are_set(x_tensor)) return kBad;
  const Sizes sizes = sizes_of_parameters(*x_tensor, mode);
  const int rank = x_tensor->rank;
  int told[kRank];
  for (int i = 0; i < rank; ++i) told[i] = sizes[place_of(i, rank)];
  const cudnnDataType_t type = x_tensor->type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  return derived->set_packed(type, CUDNN_TENSOR_NCHW, rank, told) ? kDone : kBad;
}

cudnnStatus_t cudnnBatchNormalizationForwardInference(cudnnHandle_t, cudnnBatchNormMode_t mode, const void* alpha,
                                                      const void* beta, cudnnTensorDescriptor_t x_tensor, const void* x,
                                                      cudnnTensorDescriptor_t y_tensor, void* y,
                                                      cudnnTensorDescriptor_t derived, const void* scale,
                                                      const void* bias, const void* mean, const void* variance,
                                                      double epsilon) {
  OB_TWIN_LIBRARY_CALL;
  if (!are_set(x_tensor, y_tensor, derived) || x_tensor->sizes != y_tensor->sizes) return kBad;
  if (derived->sizes != sizes_of_parameters(*x_tensor, mode)) return kBad;
  const Source from(*x_tensor, x), gain(*derived, scale), shift(*derived, bias), middle(*derived, mean),
      spread(*derived, variance);
  const Target to(alpha, beta, *y_tensor, y);
  if (!are_there(call, from, gain, shift, middle, spread, to)) return kFailed;
  each(to.shape.sizes, [&](const Sizes& i) {
    const Sizes p = clamped(i, derived->sizes);
    to.set(i, gain(p) * (from(i) - middle(p)) / std::sqrt(spread(p) + epsilon) + shift(p));
  });
  return kDone;
}

cudnnStatus_t cudnnBatchNormalizationForwardTraining(cudnnHandle_t, cudnnBatchNormMode_t mode, const void* alpha,
                                                     const void* beta, cudnnTensorDescriptor_t x_tensor, const void* x,
                                                     cudnnTensorDescriptor_t y_tensor, void* y,
                                                     cudnnTensorDescriptor_t derived, const void* scale,
                                                     const void* bias, double factor, void* running_mean,
                                                     void* running_variance, double epsilon, void* saved_mean,
                                                     void* saved_inverse) {
  OB_TWIN_LIBRARY_CALL;
  if (!are_set(x_tensor, y_tensor, derived) || x_tensor->sizes != y_tensor->sizes) return kBad;
  if (derived->sizes != sizes_of_parameters(*x_tensor, mode)) return kBad;
  const Source from(*x_tensor, x), gain(*derived, scale), shift(*derived, bias);
  const Target to(alpha, beta, *y_tensor, y);
  if (!are_there(call, from, gain, shift, to)) return kFailed;
  const double count = static_cast<double>(x_tensor->count() / derived->count());
  const auto number = [&](const Sizes& i) { return derived->number(clamped(i, derived->sizes)); };
  std::vector<double> mean = sums(*x_tensor, *derived, from);
  for (double& one : mean) one /= count;
  std::vector<double> variance = sums(*x_tensor, *derived, [&](const Sizes& i) {
    const double away = from(i) - mean[number(i)];
    return away * away;
  });
  for (double& one : variance) one /= count;
  // What runs on is blended, and unbiased; what is saved is for the gradient.
  const double unbiased = count > 1 ? count / (count - 1) : 1;
  const auto keep = [&](void* data, bool runs, auto value) {
    const Parameter parameter(*derived, data);
    if (!parameter.is_asked_for()) return true;
    const Source before(*derived, data);
    if (!are_there(call, parameter) || (runs && factor != 1 && !are_there(call, before))) return false;
    each(derived->sizes, [&](const Sizes& p) {
      const double now = value(derived->number(p));
      parameter.set(p, !runs ? now : factor == 1 ? now : (1 - factor) * before(p) + factor * now);
    });
    return true;
  };
  const bool kept = keep(running_mean, true, [&](size_t p) { return mean[p]; }) &&
                    keep(running_variance, true, [&](size_t p) { return unbiased * variance[p]; }) &&
                    keep(saved_mean, false, [&](size_t p) { return mean[p]; }) &&
                    keep(saved_inverse, false, [&](size_t p) { return 1 / std::sqrt(variance[p] + epsilon); });
  if (!kept) return kFailed;
  each(to.shape.sizes, [&](const Sizes& i) {
    const Sizes p = clamped(i, derived->sizes);
    to.set(i, gain(p) * (from(i) - mean[number(i)]) / std::sqrt(variance[number(i)] + epsilon) + shift(p));
  });
  return kDone;
}

cudnnStatus_t cudnnBatchNormalizationBackward(cudnnHandle_t, cudnnBatchNormMode_t mode, const void* alpha_data,
                                              const void* beta_data, const void* alpha_parameters,
                                              const void* beta_parameters, cudnnTensorDescriptor_t x_tensor,
                                              const void* x, cudnnTensorDescriptor_t dy_tensor, const void* dy,
                                              cudnnTensorDescriptor_t dx_tensor, void* dx,
                                              cudnnTensorDescriptor_t derived, const void* scale, void* dscale,
                                              void* dbias, double epsilon, const void* saved_mean,
                                              const void* saved_inverse) {
  OB_TWIN_LIBRARY_CALL;
  if (!are_set(x_tensor, dy_tensor, dx_tensor, derived) || x_tensor->sizes != dx_tensor->sizes) return kBad;
  if (dy_tensor->sizes != x_tensor->sizes || derived->sizes != sizes_of_parameters(*x_tensor, mode)) return kBad;
  const Source from(*x_tensor, x), given(*dy_tensor, dy), gain(*derived, scale);
  const Target to(alpha_data, beta_data, *dx_tensor, dx);
  const Target gain_to(alpha_parameters, beta_parameters, *derived, dscale),
      shift_to(alpha_parameters, beta_parameters, *derived, dbias);
  if (!are_there(call, from, given, gain, to, gain_to, shift_to)) return kFailed;
  const double count = static_cast<double>(x_tensor->count() / derived->count());
  const auto number = [&](const Sizes& i) { return derived->number(clamped(i, derived->sizes)); };
  std::vector<double> mean = sums(*x_tensor, *derived, from), inverse(mean.size());
  for (double& one : mean) one /= count;
  inverse = sums(*x_tensor, *derived, [&](const Sizes& i) {
    const double away = from(i) - mean[number(i)];
    return away * away;
  });
  for (double& one : inverse) one = 1 / std::sqrt(one / count + epsilon);
  if (saved_mean != nullptr && saved_inverse != nullptr) {
    const Source kept_mean(*derived, saved_mean), kept_inverse(*derived, saved_inverse);
    if (!are_there(call, kept_mean, kept_inverse)) return kFailed;
    each(derived->sizes, [&](const Sizes& p) {
      mean[derived->number(p)] = kept_mean(p);
      inverse[derived->number(p)] = kept_inverse(p);
    });
  }
  const auto normal = [&](const Sizes& i) { return (from(i) - mean[number(i)]) * inverse[number(i)]; };
  const std::vector<double> shifts = sums(*x_tensor, *derived, given);
  const std::vector<double> gains = sums(*x_tensor, *derived, [&](const Sizes& i) { return given(i) * normal(i); });
  each(to.shape.sizes, [&](const Sizes& i) {
    const size_t p = number(i);
    const double rest = given(i) - (shifts[p] + normal(i) * gains[p]) / count;
    to.set(i, gain(clamped(i, derived->sizes)) * inverse[p] * rest);
  });
  gain_to.set_all(gains);
  shift_to.set_all(shifts);
  return kDone;
}

// cuDNN's activations and their gradients.
#include <cmath>

#include "tensors.h"

using namespace opbridge_twin::dnn;

// Elements are doubles here, whatever they are in memory, so that one formula serves every type.
struct cudnnActivationStruct {
  cudnnActivationMode_t mode = CUDNN_ACTIVATION_RELU;
  double coefficient = 0;

  double value(double x) const {
    switch (mode) {
      case CUDNN_ACTIVATION_SIGMOID:
        return 1 / (1 + std::exp(-x));
      case CUDNN_ACTIVATION_RELU:
        return x > 0 ? x : 0 * x;  // NaN stays NaN
      case CUDNN_ACTIVATION_TANH:
        return std::tanh(x);
      case CUDNN_ACTIVATION_CLIPPED_RELU:
        return x > coefficient ? coefficient : x > 0 ? x : 0 * x;
      case CUDNN_ACTIVATION_ELU:
        return x > 0 ? x : coefficient * std::expm1(x);
      case CUDNN_ACTIVATION_SWISH:
        return x / (1 + std::exp(-x));
      default:
        return x;
    }
  }
  double slope(double x, double y) const {
    switch (mode) {
      case CUDNN_ACTIVATION_SIGMOID:
        return y * (1 - y);
      case CUDNN_ACTIVATION_RELU:
        return x > 0;
      case CUDNN_ACTIVATION_TANH:
        return 1 - y * y;
      case CUDNN_ACTIVATION_CLIPPED_RELU:
        return x > 0 && x < coefficient;
      case CUDNN_ACTIVATION_ELU:
        return x > 0 ? 1 : y + coefficient;
      case CUDNN_ACTIVATION_SWISH: {
        const double share = 1 / (1 + std::exp(-x));
        return share + y * (1 - share);
      }
      default:
        return 1;
    }
  }
};

cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t* activation) { return create(activation); }
cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t activation) { return destroy(activation); }
cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t activation, cudnnActivationMode_t mode,
                                           cudnnNanPropagation_t, double coefficient) {
  if (activation == nullptr) return kBad;
  *activation = {mode, coefficient};
  return kDone;
}
cudnnStatus_t cudnnActivationForward(cudnnHandle_t, cudnnActivationDescriptor_t activation, const void* alpha,
                                     cudnnTensorDescriptor_t x_tensor, const void* x, const void* beta,
                                     cudnnTensorDescriptor_t y_tensor, void* y) {
  OB_TWIN_LIBRARY_CALL;
  if (activation == nullptr || !are_set(x_tensor, y_tensor) || !same_sizes(*x_tensor, *y_tensor)) return kBad;
  const Source from(*x_tensor, x);
  const Target to(alpha, beta, *y_tensor, y);
  if (!are_there(call, from, to)) return kFailed;
  each(to.shape.sizes, [&](const Sizes& i) { to.set(i, activation->value(from(i))); });
  return kDone;
}
cudnnStatus_t cudnnActivationBackward(cudnnHandle_t, cudnnActivationDescriptor_t activation, const void* alpha,
                                      cudnnTensorDescriptor_t y_tensor, const void* y,
                                      cudnnTensorDescriptor_t dy_tensor, const void* dy,
                                      cudnnTensorDescriptor_t x_tensor, const void* x, const void* beta,
                                      cudnnTensorDescriptor_t dx_tensor, void* dx) {
  OB_TWIN_LIBRARY_CALL;
  if (activation == nullptr || !are_set(y_tensor, dy_tensor, x_tensor, dx_tensor)) return kBad;
  if (!same_sizes(*x_tensor, *dx_tensor) || !same_sizes(*x_tensor, *y_tensor)) return kBad;
  const Source result(*y_tensor, y), given(*dy_tensor, dy), from(*x_tensor, x);
  const Target to(alpha, beta, *dx_tensor, dx);
  if (!are_there(call, result, given, from, to)) return kFailed;
  each(to.shape.sizes, [&](const Sizes& i) { to.set(i, given(i) * activation->slope(from(i), result(i))); });
  return kDone;
}

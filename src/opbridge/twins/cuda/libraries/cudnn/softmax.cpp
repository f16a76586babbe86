// cuDNN's softmax and its gradient.
#include <algorithm>
#include <cmath>

#include "tensors.h"

using namespace opbridge_twin::dnn;

namespace {

// The elements that a softmax is over: of one pixel its channels, or all of an image.
template <class F>
void each_group(const Sizes& sizes, cudnnSoftmaxMode_t mode, F f) {
  Sizes groups = sizes, within{1, 1, 1, 1, 1};
  for (int i = 1; i < (mode == CUDNN_SOFTMAX_MODE_CHANNEL ? 2 : kRank); ++i) std::swap(groups[i], within[i]);
  each(groups, [&](const Sizes& group) {
    f([&](auto visit) {
      each(within, [&](const Sizes& inside) {
        Sizes index = group;
        for (int i = 0; i < kRank; ++i) index[i] += inside[i];
        visit(index);
      });
    });
  });
}

}  // namespace

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t, cudnnSoftmaxAlgorithm_t algorithm, cudnnSoftmaxMode_t mode,
                                  const void* alpha, cudnnTensorDescriptor_t x_tensor, const void* x, const void* beta,
                                  cudnnTensorDescriptor_t y_tensor, void* y) {
  OB_TWIN_LIBRARY_CALL;
  if (!are_set(x_tensor, y_tensor) || !same_sizes(*x_tensor, *y_tensor)) return kBad;
  const Source from(*x_tensor, x);
  const Target to(alpha, beta, *y_tensor, y);
  if (!are_there(call, from, to)) return kFailed;
  each_group(from.shape.sizes, mode, [&](auto of_group) {
    // The largest is taken away first, so that no power overflows.
    double most = -INFINITY, sum = 0;
    of_group([&](const Sizes& i) { most = std::max(most, from(i)); });
    of_group([&](const Sizes& i) { sum += std::exp(from(i) - most); });
    of_group([&](const Sizes& i) {
      const double log = from(i) - most - std::log(sum);
      to.set(i, algorithm == CUDNN_SOFTMAX_LOG ? log : std::exp(log));
    });
  });
  return kDone;
}
cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t, cudnnSoftmaxAlgorithm_t algorithm, cudnnSoftmaxMode_t mode,
                                   const void* alpha, cudnnTensorDescriptor_t y_tensor, const void* y,
                                   cudnnTensorDescriptor_t dy_tensor, const void* dy, const void* beta,
                                   cudnnTensorDescriptor_t dx_tensor, void* dx) {
  OB_TWIN_LIBRARY_CALL;
  if (!are_set(y_tensor, dy_tensor, dx_tensor) || !same_sizes(*y_tensor, *dx_tensor)) return kBad;
  const Source result(*y_tensor, y), given(*dy_tensor, dy);
  const Target to(alpha, beta, *dx_tensor, dx);
  if (!are_there(call, result, given, to)) return kFailed;
  const bool is_log = algorithm == CUDNN_SOFTMAX_LOG;
  each_group(to.shape.sizes, mode, [&](auto of_group) {
    double sum = 0;
    of_group([&](const Sizes& i) { sum += is_log ? given(i) : given(i) * result(i); });
    of_group([&](const Sizes& i) {
      to.set(i, is_log ? given(i) - std::exp(result(i)) * sum : result(i) * (given(i) - sum));
    });
  });
  return kDone;
}

// cuDNN's pooling: one walk over all windows serves it and its gradients.
#include <algorithm>
#include <cmath>

#include "tensors.h"

using namespace opbridge_twin::dnn;

// Unlike a convolution, pooling has no filter whose sizes would say those of a window.
struct cudnnPoolingStruct {
  Windows windows;
  cudnnPoolingMode_t mode = CUDNN_POOLING_MAX;
  Sizes window{1, 1, 1, 1, 1};

  bool takes_most() const { return mode == CUDNN_POOLING_MAX || mode == CUDNN_POOLING_MAX_DETERMINISTIC; }
};

namespace {

Sizes output_sizes(const cudnnPoolingStruct& pooling, const Shape& x) {
  Sizes sizes = x.sizes;
  for (int i = 2; i < kRank; ++i) sizes[i] = pooling.windows.count(i, x.sizes[i], pooling.window[i]);
  return sizes;
}

// The elements of a window that are not padding.
template <class F>
void each_element(const cudnnPoolingStruct& pooling, const Shape& x, const Sizes& window, F visit) {
  each(pooling.window, [&](const Sizes& place) {
    Sizes from = window;
    if (pooling.windows.element(window, place, x.sizes, from)) visit(from);
  });
}

double divisor(const cudnnPoolingStruct& pooling, const Shape& x, const Sizes& window) {
  if (pooling.mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING) {
    return static_cast<double>(pooling.window[2]) * pooling.window[3] * pooling.window[4];
  }
  double count = 0;
  each_element(pooling, x, window, [&](const Sizes&) { ++count; });
  return count;
}

}  // namespace

cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t* pooling) { return create(pooling); }
cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t pooling) { return destroy(pooling); }
cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t pooling, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t nan, int height, int width, int h_pad, int w_pad,
                                          int h_stride, int w_stride) {
  const int window[] = {height, width}, pads[] = {h_pad, w_pad}, strides[] = {h_stride, w_stride};
  return cudnnSetPoolingNdDescriptor(pooling, mode, nan, 2, window, pads, strides);
}
cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t pooling, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t, int rank, const int* window, const int* pads,
                                          const int* strides) {
  if (pooling == nullptr || rank < 1 || rank > 3) return kBad;
  for (int i = 0; i < rank; ++i) {
    if (window[i] < 1 || pads[i] < 0 || pads[i] >= window[i] || strides[i] < 1) return kBad;
  }
  Windows& windows = pooling->windows;
  windows.set(windows.pads, rank, pads, 0);
  windows.set(windows.steps, rank, strides, 1);
  windows.set(pooling->window, rank, window, 1);
  pooling->mode = mode;
  return kDone;
}
cudnnStatus_t cudnnGetPooling2dForwardOutputDim(cudnnPoolingDescriptor_t pooling, cudnnTensorDescriptor_t x_tensor,
                                                int* n, int* c, int* h, int* w) {
  if (pooling == nullptr || !are_set(x_tensor)) return kBad;
  int* const targets[] = {n, c, h, w};
  tell(output_sizes(*pooling, *x_tensor), 4, targets);
  return kDone;
}
cudnnStatus_t cudnnPoolingForward(cudnnHandle_t, cudnnPoolingDescriptor_t pooling, const void* alpha,
                                  cudnnTensorDescriptor_t x_tensor, const void* x, const void* beta,
                                  cudnnTensorDescriptor_t y_tensor, void* y) {
  OB_TWIN_LIBRARY_CALL;
  if (pooling == nullptr || !are_set(x_tensor, y_tensor)) return kBad;
  if (y_tensor->sizes != output_sizes(*pooling, *x_tensor)) return kBad;
  const Source from(*x_tensor, x);
  const Target to(alpha, beta, *y_tensor, y);
  if (!are_there(call, from, to)) return kFailed;
  each(to.shape.sizes, [&](const Sizes& window) {
    double most = -INFINITY, sum = 0;
    each_element(*pooling, from.shape, window, [&](const Sizes& i) {
      most = std::max(most, from(i));
      sum += from(i);
    });
    to.set(window, pooling->takes_most() ? most : sum / divisor(*pooling, from.shape, window));
  });
  return kDone;
}
cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t, cudnnPoolingDescriptor_t pooling, const void* alpha,
                                   cudnnTensorDescriptor_t y_tensor, const void* y, cudnnTensorDescriptor_t dy_tensor,
                                   const void* dy, cudnnTensorDescriptor_t x_tensor, const void* x, const void* beta,
                                   cudnnTensorDescriptor_t dx_tensor, void* dx) {
  OB_TWIN_LIBRARY_CALL;
  if (pooling == nullptr || !are_set(y_tensor, dy_tensor, x_tensor, dx_tensor)) return kBad;
  if (dy_tensor->sizes != output_sizes(*pooling, *x_tensor) || dx_tensor->sizes != x_tensor->sizes) return kBad;
  const Source result(*y_tensor, y), given(*dy_tensor, dy), from(*x_tensor, x);
  const Target to(alpha, beta, *dx_tensor, dx);
  if (!are_there(call, result, given, from, to)) return kFailed;
  std::vector<double> sums(to.shape.count());
  each(given.shape.sizes, [&](const Sizes& window) {
    bool taken = false;
    const double share = pooling->takes_most() ? 0 : given(window) / divisor(*pooling, from.shape, window);
    each_element(*pooling, from.shape, window, [&](const Sizes& i) {
      // The first of equal ones gets all.
      if (pooling->takes_most() && (taken || from(i) != result(window))) return;
      taken = true;
      sums[to.shape.number(i)] += pooling->takes_most() ? given(window) : share;
    });
  });
  to.set_all(sums);
  return kDone;
}

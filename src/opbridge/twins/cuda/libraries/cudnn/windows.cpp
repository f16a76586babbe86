// cuDNN's convolutions and pooling: one walk over all windows serves each of them and its gradients.
#include <algorithm>
#include <cmath>

#include "tensors.h"

using namespace opbridge_twin::dnn;

struct cudnnConvolutionStruct {
  Windows windows;
  cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  int groups = 1;
};
struct cudnnPoolingStruct {
  Windows windows;
  cudnnPoolingMode_t mode = CUDNN_POOLING_MAX;
  Sizes window{1, 1, 1, 1, 1};

  bool takes_most() const { return mode == CUDNN_POOLING_MAX || mode == CUDNN_POOLING_MAX_DETERMINISTIC; }
};

namespace {

using Convolution = const cudnnConvolutionStruct&;

Sizes output_sizes(Convolution convolution, const Shape& x, const Shape& w) {
  Sizes sizes{x.sizes[0], w.sizes[0], 1, 1, 1};
  for (int i = 2; i < kRank; ++i) sizes[i] = convolution.windows.count(i, x.sizes[i], w.sizes[i]);
  return sizes;
}

bool fits(const cudnnConvolutionStruct* convolution, const Shape& x, const Shape& w, const Shape& y) {
  return convolution != nullptr && x.sizes[1] == w.sizes[1] * convolution->groups &&
         w.sizes[0] % convolution->groups == 0 && y.sizes == output_sizes(*convolution, x, w);
}

// Every product that a convolution is the sum of: visit(index in x, index in w, index in y).
template <class F>
void each_product(Convolution convolution, const Shape& x, const Shape& w, const Shape& y, F visit) {
  const int outputs = w.sizes[0] / convolution.groups;
  Sizes window = w.sizes;
  window[0] = 1;
  each(y.sizes, [&](const Sizes& to) {
    each(window, [&](const Sizes& place) {
      Sizes from{to[0], to[1] / outputs * w.sizes[1] + place[1], 0, 0, 0}, weight = place;
      if (!convolution.windows.element(to, place, x.sizes, from)) return;
      weight[0] = to[1];
      for (int i = 2; i < kRank && convolution.mode == CUDNN_CONVOLUTION; ++i) {
        weight[i] = w.sizes[i] - 1 - place[i];
      }
      visit(from, weight, to);
    });
  });
}

template <class Performance, class Algorithm>
cudnnStatus_t choose(Algorithm algorithm, int wanted, int* found, Performance* performance) {
  if (wanted < 1 || found == nullptr || performance == nullptr) return kBad;
  performance[0] = {algorithm, kDone, 0, 0, CUDNN_DETERMINISTIC, CUDNN_DEFAULT_MATH, {}};
  *found = 1;
  return kDone;
}
cudnnStatus_t no_workspace(size_t* bytes) {
  if (bytes == nullptr) return kBad;
  *bytes = 0;
  return kDone;
}

void tell(const Sizes& sizes, int rank, int* const* targets) {
  for (int i = 0; i < rank; ++i) *targets[i] = sizes[place_of(i, rank)];
}

}  // namespace

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* convolution) {
  return create(convolution);
}
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t convolution) {
  return destroy(convolution);
}
cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t convolution, int h_pad, int w_pad,
                                              int h_stride, int w_stride, int h_dilation, int w_dilation,
                                              cudnnConvolutionMode_t mode, cudnnDataType_t compute) {
  const int pads[] = {h_pad, w_pad}, strides[] = {h_stride, w_stride}, dilations[] = {h_dilation, w_dilation};
  return cudnnSetConvolutionNdDescriptor(convolution, 2, pads, strides, dilations, mode, compute);
}
cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t convolution, int rank, const int* pads,
                                              const int* strides, const int* dilations, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t) {
  if (convolution == nullptr || rank < 1 || rank > 3) return kBad;
  for (int i = 0; i < rank; ++i) {
    if (pads[i] < 0 || strides[i] < 1 || dilations[i] < 1) return kBad;
  }
  Windows& windows = convolution->windows;
  windows.set(windows.pads, rank, pads, 0);
  windows.set(windows.steps, rank, strides, 1);
  windows.set(windows.spread, rank, dilations, 1);
  convolution->mode = mode;
  return kDone;
}
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t convolution, int groups) {
  if (convolution == nullptr || groups < 1) return kBad;
  convolution->groups = groups;
  return kDone;
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t convolution, cudnnMathType_t) {
  return convolution == nullptr ? kBad : kDone;
}
cudnnStatus_t cudnnGetConvolution2dForwardOutputDim(cudnnConvolutionDescriptor_t convolution,
                                                    cudnnTensorDescriptor_t x_tensor, cudnnFilterDescriptor_t filter,
                                                    int* n, int* c, int* h, int* w) {
  if (convolution == nullptr || !are_set(x_tensor, filter)) return kBad;
  int* const targets[] = {n, c, h, w};
  tell(output_sizes(*convolution, *x_tensor, *filter), 4, targets);
  return kDone;
}
cudnnStatus_t cudnnGetConvolutionNdForwardOutputDim(cudnnConvolutionDescriptor_t convolution,
                                                    cudnnTensorDescriptor_t x_tensor, cudnnFilterDescriptor_t filter,
                                                    int rank, int* sizes) {
  if (convolution == nullptr || !are_set(x_tensor, filter) || rank != x_tensor->rank) return kBad;
  const Sizes found = output_sizes(*convolution, *x_tensor, *filter);
  for (int i = 0; i < rank; ++i) sizes[i] = found[place_of(i, rank)];
  return kDone;
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t, const void* alpha, cudnnTensorDescriptor_t x_tensor, const void* x,
                                      cudnnFilterDescriptor_t filter, const void* w,
                                      cudnnConvolutionDescriptor_t convolution, cudnnConvolutionFwdAlgo_t, void*,
                                      size_t, const void* beta, cudnnTensorDescriptor_t y_tensor, void* y) {
  OB_TWIN_LIBRARY_CALL;
  if (!are_set(x_tensor, filter, y_tensor) || !fits(convolution, *x_tensor, *filter, *y_tensor)) return kBad;
  const Source from(*x_tensor, x), weights(*filter, w);
  const Target to(alpha, beta, *y_tensor, y);
  if (!are_there(call, from, weights, to)) return kFailed;
  std::vector<double> sums(to.shape.count());
  each_product(*convolution, from.shape, weights.shape, to.shape, [&](const Sizes& i, const Sizes& j, const Sizes& k) {
    sums[to.shape.number(k)] += from(i) * weights(j);
  });
  to.set_all(sums);
  return kDone;
}
cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t, const void* alpha, cudnnFilterDescriptor_t filter,
                                           const void* w, cudnnTensorDescriptor_t dy_tensor, const void* dy,
                                           cudnnConvolutionDescriptor_t convolution, cudnnConvolutionBwdDataAlgo_t,
                                           void*, size_t, const void* beta, cudnnTensorDescriptor_t dx_tensor,
                                           void* dx) {
  OB_TWIN_LIBRARY_CALL;
  if (!are_set(dx_tensor, filter, dy_tensor) || !fits(convolution, *dx_tensor, *filter, *dy_tensor)) return kBad;
  const Source weights(*filter, w), given(*dy_tensor, dy);
  const Target to(alpha, beta, *dx_tensor, dx);
  if (!are_there(call, weights, given, to)) return kFailed;
  std::vector<double> sums(to.shape.count());
  each_product(*convolution, to.shape, weights.shape, given.shape, [&](const Sizes& i, const Sizes& j, const Sizes& k) {
    sums[to.shape.number(i)] += given(k) * weights(j);
  });
  to.set_all(sums);
  return kDone;
}
cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t, const void* alpha, cudnnTensorDescriptor_t x_tensor,
                                             const void* x, cudnnTensorDescriptor_t dy_tensor, const void* dy,
                                             cudnnConvolutionDescriptor_t convolution, cudnnConvolutionBwdFilterAlgo_t,
                                             void*, size_t, const void* beta, cudnnFilterDescriptor_t filter,
                                             void* dw) {
  OB_TWIN_LIBRARY_CALL;
  if (!are_set(x_tensor, filter, dy_tensor) || !fits(convolution, *x_tensor, *filter, *dy_tensor)) return kBad;
  const Source from(*x_tensor, x), given(*dy_tensor, dy);
  const Target to(alpha, beta, *filter, dw);
  if (!are_there(call, from, given, to)) return kFailed;
  std::vector<double> sums(to.shape.count());
  each_product(*convolution, from.shape, to.shape, given.shape,
               [&](const Sizes& i, const Sizes& j, const Sizes& k) { sums[to.shape.number(j)] += given(k) * from(i); });
  to.set_all(sums);
  return kDone;
}
cudnnStatus_t cudnnConvolutionBackwardBias(cudnnHandle_t, const void* alpha, cudnnTensorDescriptor_t dy_tensor,
                                           const void* dy, const void* beta, cudnnTensorDescriptor_t db_tensor,
                                           void* db) {
  OB_TWIN_LIBRARY_CALL;
  if (!are_set(dy_tensor, db_tensor)) return kBad;
  if (db_tensor->sizes != Sizes{1, dy_tensor->sizes[1], 1, 1, 1}) return kBad;
  const Source given(*dy_tensor, dy);
  const Target to(alpha, beta, *db_tensor, db);
  if (!are_there(call, given, to)) return kFailed;
  std::vector<double> sums(to.shape.count());
  each(given.shape.sizes, [&](const Sizes& i) { sums[static_cast<size_t>(i[1])] += given(i); });
  to.set_all(sums);
  return kDone;
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t, cudnnTensorDescriptor_t, cudnnFilterDescriptor_t,
                                                      cudnnConvolutionDescriptor_t, cudnnTensorDescriptor_t,
                                                      cudnnConvolutionFwdAlgo_t, size_t* bytes) {
  return no_workspace(bytes);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(cudnnHandle_t, cudnnFilterDescriptor_t,
                                                           cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
                                                           cudnnTensorDescriptor_t, cudnnConvolutionBwdDataAlgo_t,
                                                           size_t* bytes) {
  return no_workspace(bytes);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(cudnnHandle_t, cudnnTensorDescriptor_t,
                                                             cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
                                                             cudnnFilterDescriptor_t, cudnnConvolutionBwdFilterAlgo_t,
                                                             size_t* bytes) {
  return no_workspace(bytes);
}
#define OB_TWIN_CHOICE(name, way, chosen, A, B, C)                                                        \
  cudnnStatus_t cudnn##name(cudnnHandle_t, A, B, cudnnConvolutionDescriptor_t, C, int wanted, int* found, \
                            cudnnConvolution##way##AlgoPerf_t* performance) {                             \
    return choose(chosen, wanted, found, performance);                                                    \
  }
#define OB_TWIN_CHOICES(name, way, chosen, A, B, C)           \
  OB_TWIN_CHOICE(Find##name##Algorithm, way, chosen, A, B, C) \
  OB_TWIN_CHOICE(Get##name##Algorithm_v7, way, chosen, A, B, C)
OB_TWIN_CHOICES(ConvolutionForward, Fwd, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, cudnnTensorDescriptor_t,
                cudnnFilterDescriptor_t, cudnnTensorDescriptor_t)
OB_TWIN_CHOICES(ConvolutionBackwardData, BwdData, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, cudnnFilterDescriptor_t,
                cudnnTensorDescriptor_t, cudnnTensorDescriptor_t)
OB_TWIN_CHOICES(ConvolutionBackwardFilter, BwdFilter, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, cudnnTensorDescriptor_t,
                cudnnTensorDescriptor_t, cudnnFilterDescriptor_t)

// Pooling ------------------------------------------------------------------------------------------------------------

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

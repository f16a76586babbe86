// cuDNN's convolutions: one walk over all products serves each of them and its gradients.
#include "tensors.h"

using namespace opbridge_twin::dnn;

// Groups divide the channels: each output channel reads those of its own group only.
struct cudnnConvolutionStruct {
  Windows windows;
  cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  int groups = 1;
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

cudnnStatus_t cudnnFindConvolutionForwardAlgorithm(cudnnHandle_t, cudnnTensorDescriptor_t, cudnnFilterDescriptor_t,
                                                   cudnnConvolutionDescriptor_t, cudnnTensorDescriptor_t, int wanted,
                                                   int* found, cudnnConvolutionFwdAlgoPerf_t* performance) {
  return choose(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, wanted, found, performance);
}
cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, cudnnTensorDescriptor_t, cudnnFilterDescriptor_t,
                                                     cudnnConvolutionDescriptor_t, cudnnTensorDescriptor_t, int wanted,
                                                     int* found, cudnnConvolutionFwdAlgoPerf_t* performance) {
  return choose(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, wanted, found, performance);
}
cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithm(cudnnHandle_t, cudnnFilterDescriptor_t, cudnnTensorDescriptor_t,
                                                        cudnnConvolutionDescriptor_t, cudnnTensorDescriptor_t,
                                                        int wanted, int* found,
                                                        cudnnConvolutionBwdDataAlgoPerf_t* performance) {
  return choose(CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, wanted, found, performance);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t, cudnnFilterDescriptor_t,
                                                          cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
                                                          cudnnTensorDescriptor_t, int wanted, int* found,
                                                          cudnnConvolutionBwdDataAlgoPerf_t* performance) {
  return choose(CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, wanted, found, performance);
}
cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithm(cudnnHandle_t, cudnnTensorDescriptor_t,
                                                          cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
                                                          cudnnFilterDescriptor_t, int wanted, int* found,
                                                          cudnnConvolutionBwdFilterAlgoPerf_t* performance) {
  return choose(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, wanted, found, performance);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnnHandle_t, cudnnTensorDescriptor_t,
                                                            cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
                                                            cudnnFilterDescriptor_t, int wanted, int* found,
                                                            cudnnConvolutionBwdFilterAlgoPerf_t* performance) {
  return choose(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, wanted, found, performance);
}

// cuDNN's handles and tensors, and what is done to their elements one by one.
#include "tensors.h"

#include <algorithm>
#include <cmath>

using namespace opbridge_twin::dnn;

namespace opbridge_twin::dnn {

bool Shape::set(cudnnDataType_t of, int user_rank, const int* user_sizes, const int* user_strides) {
  const bool is_there =
      of == CUDNN_DATA_FLOAT || of == CUDNN_DATA_DOUBLE || of == CUDNN_DATA_HALF || of == CUDNN_DATA_BFLOAT16;
  if (!is_there || user_rank < 3 || user_rank > kRank || user_sizes == nullptr || user_strides == nullptr) return false;
  for (int i = 0; i < user_rank; ++i) {
    if (user_sizes[i] < 1 || user_strides[i] < 0) return false;
  }
  *this = Shape();
  type = of;
  rank = user_rank;
  for (int i = 0; i < user_rank; ++i) {
    sizes[place_of(i, rank)] = user_sizes[i];
    strides[place_of(i, rank)] = user_strides[i];
  }
  return true;
}

bool Shape::set_packed(cudnnDataType_t of, cudnnTensorFormat_t format, int user_rank, const int* user_sizes) {
  if (format == CUDNN_TENSOR_NCHW_VECT_C || user_rank < 3 || user_rank > kRank || user_sizes == nullptr) return false;
  std::vector<int> packed(static_cast<size_t>(user_rank));
  int step = 1;
  if (format == CUDNN_TENSOR_NHWC) {
    packed[1] = 1;
    step = user_sizes[1];
  }
  for (int i = user_rank - 1; i >= 0; --i) {
    if (i == 1 && format == CUDNN_TENSOR_NHWC) continue;
    packed[static_cast<size_t>(i)] = step;
    step *= user_sizes[i];
  }
  return set(of, user_rank, user_sizes, packed.data());
}

}  // namespace opbridge_twin::dnn

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) { return create(handle); }
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) { return destroy(handle); }
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  if (handle == nullptr) return CUDNN_STATUS_NOT_INITIALIZED;
  handle->stream = stream;
  return kDone;
}
cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  if (handle == nullptr || stream == nullptr) return kBad;
  *stream = handle->stream;
  return kDone;
}
size_t cudnnGetVersion(void) { return CUDNN_VERSION; }
const char* cudnnGetErrorString(cudnnStatus_t status) {
  static const char* const names[] = {"CUDNN_STATUS_SUCCESS",          "CUDNN_STATUS_NOT_INITIALIZED",
                                      "CUDNN_STATUS_ALLOC_FAILED",     "CUDNN_STATUS_BAD_PARAM",
                                      "CUDNN_STATUS_INTERNAL_ERROR",   "CUDNN_STATUS_INVALID_VALUE",
                                      "CUDNN_STATUS_ARCH_MISMATCH",    "CUDNN_STATUS_MAPPING_ERROR",
                                      "CUDNN_STATUS_EXECUTION_FAILED", "CUDNN_STATUS_NOT_SUPPORTED"};
  return static_cast<unsigned>(status) < 10 ? names[status] : "CUDNN_UNKNOWN_STATUS";
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* tensor) { return create(tensor); }
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor) { return destroy(tensor); }
cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,
                                         cudnnDataType_t type, int n, int c, int h, int w) {
  const int sizes[] = {n, c, h, w};
  return tensor != nullptr && tensor->set_packed(type, format, 4, sizes) ? kDone : kBad;
}
cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int n, int c, int h,
                                           int w, int n_stride, int c_stride, int h_stride, int w_stride) {
  const int sizes[] = {n, c, h, w}, strides[] = {n_stride, c_stride, h_stride, w_stride};
  return cudnnSetTensorNdDescriptor(tensor, type, 4, sizes, strides);
}
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int rank,
                                         const int* sizes, const int* strides) {
  return tensor != nullptr && tensor->set(type, rank, sizes, strides) ? kDone : kBad;
}
cudnnStatus_t cudnnGetTensor4dDescriptor(cudnnTensorDescriptor_t tensor, cudnnDataType_t* type, int* n, int* c, int* h,
                                         int* w, int* n_stride, int* c_stride, int* h_stride, int* w_stride) {
  if (!are_set(tensor) || tensor->rank != 4) return kBad;
  *type = tensor->type;
  int* const sizes[] = {n, c, h, w};
  int* const strides[] = {n_stride, c_stride, h_stride, w_stride};
  for (int i = 0; i < 4; ++i) {
    *sizes[i] = tensor->sizes[place_of(i, 4)];
    *strides[i] = tensor->strides[place_of(i, 4)];
  }
  return kDone;
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* filter) { return create(filter); }
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter) { return destroy(filter); }
cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int k, int c, int h, int w) {
  const int sizes[] = {k, c, h, w};
  return cudnnSetFilterNdDescriptor(filter, type, format, 4, sizes);
}
cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int rank, const int* sizes) {
  return filter != nullptr && filter->set_packed(type, format, rank, sizes) ? kDone : kBad;
}

cudnnStatus_t cudnnAddTensor(cudnnHandle_t, const void* alpha, cudnnTensorDescriptor_t a_tensor, const void* a,
                             const void* beta, cudnnTensorDescriptor_t c_tensor, void* c) {
  OB_TWIN_LIBRARY_CALL;
  if (!are_set(a_tensor, c_tensor)) return kBad;
  for (int i = 0; i < kRank; ++i) {
    if (a_tensor->sizes[i] != 1 && a_tensor->sizes[i] != c_tensor->sizes[i]) return kBad;
  }
  const Source from(*a_tensor, a);
  const Target to(alpha, beta, *c_tensor, c);
  if (!are_there(call, from, to)) return kFailed;
  each(to.shape.sizes, [&](const Sizes& i) { to.set(i, from(clamped(i, from.shape.sizes))); });
  return kDone;
}
cudnnStatus_t cudnnTransformTensor(cudnnHandle_t, const void* alpha, cudnnTensorDescriptor_t x_tensor, const void* x,
                                   const void* beta, cudnnTensorDescriptor_t y_tensor, void* y) {
  OB_TWIN_LIBRARY_CALL;
  if (!are_set(x_tensor, y_tensor) || !same_sizes(*x_tensor, *y_tensor)) return kBad;
  const Source from(*x_tensor, x);
  const Target to(alpha, beta, *y_tensor, y);
  if (!are_there(call, from, to)) return kFailed;
  each(to.shape.sizes, [&](const Sizes& i) { to.set(i, from(i)); });
  return kDone;
}
cudnnStatus_t cudnnSetTensor(cudnnHandle_t, cudnnTensorDescriptor_t tensor, void* y, const void* value) {
  OB_TWIN_LIBRARY_CALL;
  if (!are_set(tensor) || value == nullptr) return kBad;
  const Target to(nullptr, nullptr, *tensor, y);
  if (!are_there(call, to)) return kFailed;
  const double all = opbridge_twin::blas::load(value, tensor->element(), 0);
  each(to.shape.sizes, [&](const Sizes& i) { to.set(i, all); });
  return kDone;
}
cudnnStatus_t cudnnScaleTensor(cudnnHandle_t, cudnnTensorDescriptor_t tensor, void* y, const void* alpha) {
  OB_TWIN_LIBRARY_CALL;
  if (!are_set(tensor)) return kBad;
  const Target to(alpha, nullptr, *tensor, y);
  const Source from(*tensor, y);
  if (!are_there(call, from, to)) return kFailed;
  each(to.shape.sizes, [&](const Sizes& i) { to.set(i, from(i)); });
  return kDone;
}

// Tensors as cuDNN describes them: of any strides and types, their elements as doubles, which hold each of them.
#ifndef OPBRIDGE_TWIN_LIBRARIES_CUDNN_TENSORS_H
#define OPBRIDGE_TWIN_LIBRARIES_CUDNN_TENSORS_H

#include <cudnn.h>

#include <array>
#include <vector>

#include "elements.h"
#include "library_call.h"

namespace opbridge_twin::dnn {

// n, c, and three of space, of which those that a tensor lacks have the size 1.
constexpr int kRank = 5;
using Sizes = std::array<int, kRank>;

// Of what a user counts up to `rank`, where the sizes of space come last.
inline int place_of(int i, int rank) { return i < 2 ? i : i + kRank - rank; }

// No size is below 1, and elements may share memory where strides are 0.
struct Shape {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int rank = 0;  // 0: nobody has said what it is
  Sizes sizes{1, 1, 1, 1, 1};
  Sizes strides{};

  bool is_set() const { return rank != 0; }
  cudaDataType element() const {
    switch (type) {
      case CUDNN_DATA_DOUBLE:
        return CUDA_R_64F;
      case CUDNN_DATA_HALF:
        return CUDA_R_16F;
      case CUDNN_DATA_BFLOAT16:
        return CUDA_R_16BF;
      default:
        return CUDA_R_32F;
    }
  }
  ptrdiff_t at(const Sizes& index) const {
    ptrdiff_t offset = 0;
    for (int i = 0; i < kRank; ++i) offset += ptrdiff_t{index[i]} * strides[i];
    return offset;
  }
  size_t bytes() const {
    size_t last = 0;
    for (int i = 0; i < kRank; ++i) last += static_cast<size_t>(sizes[i] - 1) * static_cast<size_t>(strides[i]);
    return (last + 1) * blas::bytes_of(element());
  }
  size_t count() const {
    size_t all = 1;
    for (const int size : sizes) all *= static_cast<size_t>(size);
    return all;
  }
  // Returns the number of an element in contiguous order.
  size_t number(const Sizes& index) const {
    size_t all = 0;
    for (int i = 0; i < kRank; ++i) all = all * static_cast<size_t>(sizes[i]) + static_cast<size_t>(index[i]);
    return all;
  }

  // False where the twin has no such tensor.
  bool set(cudnnDataType_t of, int user_rank, const int* user_sizes, const int* user_strides);
  bool set_packed(cudnnDataType_t of, cudnnTensorFormat_t format, int user_rank, const int* user_sizes);
};

template <class F>
void each(const Sizes& sizes, F f) {
  Sizes i{};
  for (i[0] = 0; i[0] < sizes[0]; ++i[0]) {
    for (i[1] = 0; i[1] < sizes[1]; ++i[1]) {
      for (i[2] = 0; i[2] < sizes[2]; ++i[2]) {
        for (i[3] = 0; i[3] < sizes[3]; ++i[3]) {
          for (i[4] = 0; i[4] < sizes[4]; ++i[4]) f(i);
        }
      }
    }
  }
}

// An index within sizes that may be 1 for all of another tensor's.
inline Sizes clamped(const Sizes& index, const Sizes& sizes) {
  Sizes result = index;
  for (int i = 0; i < kRank; ++i) result[i] = sizes[i] == 1 ? 0 : index[i];
  return result;
}

// A tensor that is read.  A target has another type, so that each is checked for its kind of access.
class Source {
 public:
  Source(const Shape& shape, const void* data) : shape(shape), data_(data) {}
  double operator()(const Sizes& index) const { return blas::load(data_, shape.element(), shape.at(index)); }
  bool is_there(const LibraryCall& call) const { return call.access(data_, shape.bytes(), 0); }

  const Shape& shape;

 private:
  const void* data_;
};

// A tensor that becomes alpha * result + beta * what it was, which is not read where beta is 0.
class Target {
 public:
  Target(const void* alpha, const void* beta, const Shape& shape, void* data)
      : shape(shape), alpha_(scalar(alpha, 1)), beta_(scalar(beta, 0)), data_(data) {}
  void set(const Sizes& index, double value) const {
    const ptrdiff_t at = shape.at(index);
    const double before = beta_ == 0 ? 0 : beta_ * blas::load(data_, shape.element(), at);
    blas::store(data_, shape.element(), at, alpha_ * value + before);
  }
  bool is_there(const LibraryCall& call) const {
    return (beta_ == 0 || call.access(data_, shape.bytes(), 0)) && call.access(data_, shape.bytes(), 1);
  }
  void set_all(const std::vector<double>& values) const {
    each(shape.sizes, [&](const Sizes& i) { set(i, values[shape.number(i)]); });
  }

  const Shape& shape;

 private:
  // A float, but for tensors of doubles.
  double scalar(const void* value, double otherwise) const {
    if (value == nullptr) return otherwise;
    return shape.type == CUDNN_DATA_DOUBLE ? *static_cast<const double*>(value) : *static_cast<const float*>(value);
  }

  double alpha_, beta_;
  void* data_;
};

// Windows over space, of convolutions and of pooling; dimensions that a tensor lacks have one window of one element.
struct Windows {
  Sizes pads{}, steps{1, 1, 1, 1, 1}, spread{1, 1, 1, 1, 1};

  void set(Sizes& of, int rank, const int* values, int otherwise) {
    of.fill(otherwise);
    for (int i = 0; i < rank; ++i) of[kRank - rank + i] = values[i];
  }
  // How many windows of a size lie in so many elements.
  int count(int axis, int size, int window) const {
    const int covered = (window - 1) * spread[axis] + 1;
    return size + 2 * pads[axis] < covered ? 0 : (size + 2 * pads[axis] - covered) / steps[axis] + 1;
  }
  // The element that a window has at a place; false where that is padding.
  bool element(const Sizes& window, const Sizes& place, const Sizes& sizes, Sizes& found) const {
    for (int i = 2; i < kRank; ++i) {
      found[i] = window[i] * steps[i] - pads[i] + place[i] * spread[i];
      if (found[i] < 0 || found[i] >= sizes[i]) return false;
    }
    return true;
  }
};

}  // namespace opbridge_twin::dnn

// The stream is only kept to be asked for: a call is over when it returns.
struct cudnnContext {
  cudaStream_t stream = nullptr;
};
// Two types, as a program may not pass one for the other.
struct cudnnTensorStruct : opbridge_twin::dnn::Shape {};
// As a tensor, but of output channels, input channels and space.
struct cudnnFilterStruct : opbridge_twin::dnn::Shape {};

namespace opbridge_twin::dnn {

constexpr cudnnStatus_t kDone = CUDNN_STATUS_SUCCESS, kBad = CUDNN_STATUS_BAD_PARAM,
                        kFailed = CUDNN_STATUS_EXECUTION_FAILED;

template <class T>
cudnnStatus_t create(T** made) {
  if (made == nullptr) return kBad;
  *made = new T;
  return kDone;
}
template <class T>
cudnnStatus_t destroy(T* made) {
  delete made;
  return kDone;
}
inline bool same_sizes(const Shape& a, const Shape& b) { return a.sizes == b.sizes; }
// Tells a program the sizes of a tensor of `rank` dimensions, one by one.
inline void tell(const Sizes& sizes, int rank, int* const* targets) {
  for (int i = 0; i < rank; ++i) *targets[i] = sizes[place_of(i, rank)];
}
template <class... Tensors>
bool are_set(const Tensors*... tensors) {
  return ((tensors != nullptr && tensors->is_set()) && ...);
}
template <class... Parts>
bool are_there(const LibraryCall& call, const Parts&... parts) {
  return (parts.is_there(call) && ...);
}

}  // namespace opbridge_twin::dnn
#endif

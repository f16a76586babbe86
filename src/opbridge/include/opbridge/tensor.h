// Tensors as a kernel sees them: In, Out and InOut are views, cheap to copy, into memory that the caller owns.
#ifndef OPBRIDGE_TENSOR_H
#define OPBRIDGE_TENSOR_H

#include <opbridge/check.h>

namespace ob {

struct contiguous {};  // the default: elements in row-major order, without gaps
struct strided {};     // any layout; avoids a copy by the caller

// Everything about a tensor except the type of its elements.
//
// Shape and strides live in host memory: only what carries OB_HOST_DEVICE may be used inside a CUDA kernel, which takes
// an Accessor for the rest.
class TensorView {
 public:
  TensorView(void* data, const int64_t* shape, const int64_t* strides, int64_t numel, int32_t ndim, DType dtype)
      : data_(data), shape_(shape), strides_(strides), numel_(numel), ndim_(ndim), dtype_(dtype) {}

  OB_HOST_DEVICE int64_t numel() const { return numel_; }
  OB_HOST_DEVICE int64_t ndim() const { return ndim_; }
  OB_HOST_DEVICE DType dtype() const { return dtype_; }
  Shape shape() const { return Shape(shape_, ndim_); }
  int64_t size(int64_t dim) const { return shape_[wrap(dim)]; }  // negative dims count from the end

  int64_t stride(int64_t dim) const {
    dim = wrap(dim);
    return strides_ ? strides_[dim] : packed_stride(dim);
  }

  bool is_contiguous() const {
    if (strides_ == nullptr || numel_ == 0) return true;
    for (int64_t i = 0; i < ndim_; ++i) {
      if (shape_[i] != 1 && strides_[i] != packed_stride(i)) return false;
    }
    return true;
  }

 protected:
  int64_t wrap(int64_t dim) const {
    const int64_t wrapped = dim < 0 ? dim + ndim_ : dim;
    if (wrapped < 0 || wrapped >= ndim_) {
      fail("dimension ", dim, " does not exist in a tensor of shape ", shape());
    }
    return wrapped;
  }

  int64_t packed_stride(int64_t dim) const {
    int64_t stride = 1;
    for (int64_t i = ndim_ - 1; i > dim; --i) stride *= shape_[i];
    return stride;
  }

  void* data_;
  const int64_t* shape_;
  const int64_t* strides_;  // null: contiguous
  int64_t numel_;
  int32_t ndim_;
  DType dtype_;
};

// A view with its elements' type: T is const if the kernel may not write, and `any` if it reads the type by dtype().
template <class T, class Layout>
class Tensor : public TensorView {
  static constexpr bool is_const = std::is_const<T>::value;
  static constexpr bool is_any = std::is_same<std::remove_const_t<T>, any>::value;
  static constexpr bool is_strided = std::is_same<Layout, strided>::value;
  static_assert(is_strided || std::is_same<Layout, contiguous>::value, "a layout is ob::contiguous or ob::strided");

 public:
  using value_type = std::remove_const_t<T>;
  using element = std::conditional_t<is_any, std::conditional_t<is_const, const void, void>, T>;
  // A bool that is only read is returned by value: a loop that loads bytes is vectorized, one that loads bools is not.
  using reference = std::conditional_t<std::is_same<T, const bool>::value, bool, T&>;

  explicit Tensor(const TensorView& view) : TensorView(view) {}

  OB_HOST_DEVICE element* data() const { return static_cast<element*>(data_); }

  // The i-th element in memory order; views are shallow, so a const Out still writes.
  OB_HOST_DEVICE reference operator[](int64_t i) const {
    static_assert(!is_any, "ob::any has no elements to index: cast data() after a look at dtype()");
    static_assert(!is_strided, "a strided tensor has no linear index: take x(i, j), or data() where is_contiguous()");
    return element_at(i);
  }

  // One index for each dimension; not checked against the shape.
  template <class... Index>
  reference operator()(Index... indices) const {
    static_assert(!is_any, "ob::any has no elements to index: cast data() after a look at dtype()");
    int64_t offset = 0;
    int32_t dim = 0;
    if constexpr (is_strided) {
      static_cast<void>(((offset += static_cast<int64_t>(indices) * strides_[dim++]), ...));
    } else {
      static_cast<void>(((offset = offset * shape_[dim++] + static_cast<int64_t>(indices)), ...));
    }
    return element_at(offset);
  }

 private:
  OB_HOST_DEVICE reference element_at(int64_t offset) const {
    if constexpr (std::is_same<T, const bool>::value) {
      return static_cast<const uint8_t*>(data_)[offset] != 0;
    } else {
      return static_cast<T*>(data_)[offset];
    }
  }
};

// A tensor of the schema that the kernel reads. It may share memory with other inputs, never with an Out.
template <class T, class Layout = contiguous>
struct In : Tensor<const T, Layout> {
  using Tensor<const T, Layout>::Tensor;
};

// A tensor that the host has allocated for a result, by the `out` rule; its elements are not initialised.
template <class T, class Layout = contiguous>
struct Out : Tensor<T, Layout> {
  using Tensor<T, Layout>::Tensor;
};

// A tensor that the schema marks as written, `Tensor(a!)`: the caller's memory.
template <class T, class Layout = contiguous>
struct InOut : Tensor<T, Layout> {
  using Tensor<T, Layout>::Tensor;
};

// A tensor with a fixed number of dimensions that contains its shape and strides, for code on a GPU.  A tensor converts
// to it as an argument of a `__global__` function.
template <class T, int rank>
class Accessor {
 public:
  template <class Layout>
  Accessor(const Tensor<T, Layout>& tensor) : data_(tensor.data()) {
    static_assert(!std::is_same<std::remove_const_t<T>, any>::value, "ob::any has no elements to index");
    if (tensor.ndim() != rank) fail("expected a tensor of ", rank, " dimensions, got one of shape ", tensor.shape());
    for (int dim = 0; dim < rank; ++dim) {
      sizes_[dim] = tensor.size(dim);
      strides_[dim] = tensor.stride(dim);
    }
  }

  OB_HOST_DEVICE T* data() const { return data_; }
  OB_HOST_DEVICE int64_t size(int dim) const { return sizes_[dim]; }
  OB_HOST_DEVICE int64_t stride(int dim) const { return strides_[dim]; }

  // The index is not compared with the shape.
  template <class... Index>
  OB_HOST_DEVICE T& operator()(Index... indices) const {
    static_assert(sizeof...(Index) == rank, "one index for each dimension");
    int64_t offset = 0;
    int dim = 0;
    static_cast<void>(((offset += static_cast<int64_t>(indices) * strides_[dim++]), ...));
    return data_[offset];
  }

 private:
  T* data_;
  int64_t sizes_[rank];
  int64_t strides_[rank];
};

}  // namespace ob
#endif

// Operators that are the device's own: they make, view, resize and copy memory.
#include <ATen/EmptyTensor.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/DeviceGuard.h>
#include <string.h>
#include <torch/library.h>

#include "device.h"
#include "lent_tensors.h"

namespace opbridge::simulated {
namespace {

constexpr c10::DispatchKeySet kKeys(kKey);
constexpr size_t kOneThread = size_t{64} << 10;  // bytes that one thread copies sooner than several

void check_options(std::optional<at::Layout> layout, std::optional<bool> pinned) {
  TORCH_CHECK_NOT_IMPLEMENTED(at::layout_or_default(layout) == at::kStrided, "the simulated ", kName, " has no ",
                              at::layout_or_default(layout), " tensors; make it on the CPU");
  TORCH_CHECK(!pinned.value_or(false), "only memory of the CPU can be pinned");
}

at::Tensor unwritten(at::Tensor made) {
  // Only the bytes 0 and 1 are valid booleans, also in unwritten memory.
  if (made.scalar_type() != at::kBool) mark_unwritten(made.storage().mutable_data(), made.storage().nbytes());
  return made;
}

at::Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                 std::optional<at::Device> device, std::optional<bool> pinned, std::optional<at::MemoryFormat> format) {
  check_options(layout, pinned);
  const c10::OptionalDeviceGuard guard(device);
  return unwritten(at::detail::empty_generic(size, &device_memory(), kKeys, c10::dtype_or_default(dtype), format));
}

at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride, std::optional<at::ScalarType> dtype,
                         std::optional<at::Layout> layout, std::optional<at::Device> device,
                         std::optional<bool> pinned) {
  check_options(layout, pinned);
  const c10::OptionalDeviceGuard guard(device);
  return unwritten(
      at::detail::empty_strided_generic(size, stride, &device_memory(), kKeys, c10::dtype_or_default(dtype)));
}

// What stands for zeros without having memory on the CPU has memory here.
at::Tensor zeros(at::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                 std::optional<at::Device> device, std::optional<bool> pinned) {
  return empty(size, dtype, layout, device, pinned, std::nullopt).zero_();
}

void reserve(const at::Tensor& tensor) {
  const size_t needed = at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(), tensor.itemsize(),
                                                         static_cast<size_t>(tensor.storage_offset()));
  if (tensor.numel() > 0 && needed > tensor.storage().nbytes()) resize_storage(tensor.storage(), needed);
}

const at::Tensor& resize_(const at::Tensor& self, at::IntArrayRef size, std::optional<at::MemoryFormat> format) {
  c10::TensorImpl& impl = *self.unsafeGetTensorImpl();
  if (self.sizes() != size) {
    impl.set_sizes_contiguous(size);
    reserve(self);
  }
  if (format) impl.empty_tensor_restride(*format);
  return self;
}

at::Tensor& set_view(at::Tensor& self, at::Storage source, int64_t offset, at::IntArrayRef size,
                     at::IntArrayRef stride) {
  at::native::checkSetStorage(self, source, offset, size, stride);
  c10::TensorImpl& impl = *self.unsafeGetTensorImpl();
  impl.set_storage_keep_dtype(std::move(source));
  impl.set_storage_offset(offset);
  if (stride.data() == nullptr) {
    impl.set_sizes_contiguous(size);
  } else {
    impl.set_sizes_and_strides(size, stride);
  }
  reserve(self);
  return self;
}

at::Tensor& set_storage(at::Tensor& self, at::Storage source) {
  const auto count = static_cast<int64_t>(source.nbytes() / self.itemsize());
  return set_view(self, std::move(source), 0, count, {});
}

at::Tensor& set_tensor(at::Tensor& self, const at::Tensor& source) {
  if (self.is_same(source)) return self;
  return set_view(self, source.storage(), source.storage_offset(), source.sizes(), source.strides());
}

at::Tensor& set_nothing(at::Tensor& self) {
  const c10::OptionalDeviceGuard guard(self.device());
  return set_storage(self, at::Storage(at::Storage::use_byte_size_t(), 0, &device_memory(), true));
}

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& to, bool) {
  throw_errors();
  for (const at::Tensor& tensor : {self, to})
    TORCH_CHECK(tensor.is_cpu() || tensor.device().type() == kDevice, "cannot copy between ", self.device(), " and ",
                to.device(), "; copy it through the CPU");
  if (to.numel() == 0) return to;
  LentTensors lent(to.device());
  const bool plain = self.scalar_type() == to.scalar_type() && self.sizes() == to.sizes() && self.is_contiguous() &&
                     to.is_contiguous() && !self.is_conj() && !to.is_conj() && !self.is_neg() && !to.is_neg();
  if (plain && to.nbytes() <= kOneThread) {
    memmove(in_window(to.mutable_data_ptr()), in_window(self.const_data_ptr()), to.nbytes());
  } else {
    const auto host = [&](const at::Tensor& tensor) { return tensor.is_cpu() ? tensor : lent.lend(tensor); };
    host(to).copy_(host(self));
  }
  if (!to.is_cpu()) mark_written(to);
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& self, const at::Tensor& to) {
  to.resize_(self.sizes());
  return copy_from(self, to, false);
}

at::Scalar local_scalar_dense(const at::Tensor& self) {
  throw_errors();
  return at::_local_scalar_dense(LentTensors(self.device()).lend(self));
}

// PyTorch asks backends of other makers for convolutions by these names alone, which its CPU does not answer to.
at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                       at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
                       at::IntArrayRef output_padding, int64_t groups) {
  LentTensors lent(input.device());
  const OnDevice memory(input.device().index());
  const bool biased = bias && bias->defined();
  return lent.give(at::convolution(lent.lend(input), lent.lend(weight),
                                   biased ? std::optional(lent.lend(*bias)) : std::nullopt, stride, padding, dilation,
                                   transposed, output_padding, groups));
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward(const at::Tensor& grad, const at::Tensor& input,
                                                                    const at::Tensor& weight, at::IntArrayRef stride,
                                                                    at::IntArrayRef padding, at::IntArrayRef dilation,
                                                                    bool transposed, at::IntArrayRef output_padding,
                                                                    int64_t groups, std::array<bool, 3> wanted) {
  LentTensors lent(input.device());
  const OnDevice memory(input.device().index());
  const int64_t channels = grad.size(1);
  const auto [to_input, to_weight, to_bias] =
      at::convolution_backward(lent.lend(grad), lent.lend(input), lent.lend(weight), channels, stride, padding,
                               dilation, transposed, output_padding, groups, wanted);
  return {lent.give(to_input), lent.give(to_weight), lent.give(to_bias)};
}

#ifdef OPBRIDGE_SIMULATES_CUDA
// PyTorch copies to and from devices of its own by kernels that its CPU build lacks.
at::Tensor& copy_(at::Tensor& self, const at::Tensor& source, bool non_blocking) {
  if (!self.is_same(source)) copy_from(source, self, non_blocking);
  return self;
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward_of_biased(
    const at::Tensor& grad, const at::Tensor& input, const at::Tensor& weight, at::OptionalIntArrayRef,
    at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
    at::IntArrayRef output_padding, int64_t groups, std::array<bool, 3> wanted) {
  return convolution_backward(grad, input, weight, stride, padding, dilation, transposed, output_padding, groups,
                              wanted);
}
#endif

// Memory that a stream uses is in use no more when the call returns.
void record_stream(at::Tensor&, at::Stream) {}

}  // namespace

TORCH_LIBRARY_IMPL(aten, OPBRIDGE_KEY, m) {
  m.impl("empty.memory_format", empty);
  m.impl("empty_strided", empty_strided);
  m.impl("_efficientzerotensor", zeros);
  m.impl("resize_", resize_);
  m.impl("set_.source_Storage", set_storage);
  m.impl("set_.source_Storage_storage_offset", set_view);
  m.impl("set_.source_Tensor", set_tensor);
  m.impl("set_", set_nothing);
  m.impl("_copy_from", copy_from);
  m.impl("_copy_from_and_resize", copy_from_and_resize);
  m.impl("_local_scalar_dense", local_scalar_dense);
#ifdef OPBRIDGE_SIMULATES_CUDA
  m.impl("copy_", copy_);
  m.impl("convolution", convolution);
  m.impl("convolution_backward", convolution_backward_of_biased);
#else
  m.impl("convolution_overrideable", convolution);
  m.impl("convolution_backward_overrideable", convolution_backward);
#endif
  m.impl("record_stream", record_stream);
  m.impl("as_strided", at::native::as_strided_tensorimpl);
  m.impl("view", at::native::view);
  m.impl("_reshape_alias", at::native::_reshape_alias);
  m.impl("alias", at::native::alias);
  m.impl("unfold", at::native::unfold);
}

// A copy reads conjugated and negated tensors unchanged, because resolving them would be another copy.  The first
// simulated device of a process registers this for all.
void leave_as_it_is(torch::Library& library, c10::DispatchKey key) {
  const auto copy = c10::Dispatcher::singleton().findSchemaOrThrow("aten::_copy_from", "");
  if (!copy.hasKernelForDispatchKey(key)) library.impl("_copy_from", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, Conjugate, m) { leave_as_it_is(m, c10::DispatchKey::Conjugate); }
TORCH_LIBRARY_IMPL(aten, Negative, m) { leave_as_it_is(m, c10::DispatchKey::Negative); }

}  // namespace opbridge::simulated

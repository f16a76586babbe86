// The kernels of the sample backend: its device is the host's memory under another name.

#include "Kernels.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "CustomFunctions.h"

namespace {

const c10::Device kDevice(c10::DeviceType::PrivateUse1, 0);
const c10::Stream kStream(c10::Stream::DEFAULT, kDevice);

// One device that does everything at once: it has nothing to switch and nothing to wait for.
struct SampleGuard final : c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::PrivateUse1> {
  c10::Device exchangeDevice(c10::Device) const override { return kDevice; }
  c10::Device getDevice() const override { return kDevice; }
  c10::Stream getStream(c10::Device) const noexcept override { return kStream; }
  c10::Stream exchangeStream(c10::Stream) const noexcept override { return kStream; }
  void record(void**, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, SampleGuard)

struct SampleAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    void* memory = c10::GetCPUAllocator()->raw_allocate(bytes);
    return {memory, memory, raw_deleter(), kDevice};
  }
  c10::DeleterFnPtr raw_deleter() const override {
    return [](void* memory) { c10::GetCPUAllocator()->raw_deallocate(memory); };
  }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }
};
SampleAllocator allocator;
REGISTER_ALLOCATOR(c10::DeviceType::PrivateUse1, &allocator)

// The autograd engine asks it before it runs nodes on the device.
struct SampleHooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
};
SampleHooks hooks;
[[maybe_unused]] const bool kHooksAreRegistered = (at::RegisterPrivateUse1HooksInterface(&hooks), true);

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

// The same memory as a tensor on the CPU.
at::Tensor host(const at::Tensor& t) {
  return at::from_blob(t.data_ptr(), t.sizes(), t.strides(), t.options().device(at::kCPU));
}

at::Tensor device(const at::Tensor& t) {
  auto made = at::empty(t.sizes(), t.options().device(c10::DeviceType::PrivateUse1));
  host(made).copy_(t);
  return made;
}

at::Tensor view_of(const at::Tensor& t, at::IntArrayRef sizes, at::IntArrayRef strides, int64_t offset) {
  auto view = at::detail::make_tensor<c10::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(t.storage()), t.key_set(),
                                                       t.dtype());
  view.unsafeGetTensorImpl()->set_storage_offset(offset);
  view.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  return view;
}

}  // namespace

namespace sample::native {

at::Tensor empty_memory_format(at::IntArrayRef size, ::std::optional<at::ScalarType> dtype, ::std::optional<at::Layout>,
                               ::std::optional<at::Device>, ::std::optional<bool>,
                               ::std::optional<at::MemoryFormat> format) {
  return at::Tensor(at::detail::empty_generic(size, &allocator, kKeys, at::dtype_or_default(dtype), format));
}

at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride, ::std::optional<at::ScalarType> dtype,
                         ::std::optional<at::Layout>, ::std::optional<at::Device>, ::std::optional<bool>) {
  return at::Tensor(at::detail::empty_strided_generic(size, stride, &allocator, kKeys, at::dtype_or_default(dtype)));
}

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& dst, bool) {
  const auto from = self.is_cpu() ? self : host(self);
  auto to = dst.is_cpu() ? dst : host(dst);
  to.copy_(from);
  return dst;
}

at::Tensor copy_from_and_resize(const at::Tensor& self, const at::Tensor& dst) {
  return copy_from(self, dst.resize_(self.sizes()), false);
}

at::Tensor as_strided(const at::Tensor& self, at::IntArrayRef size, at::IntArrayRef stride,
                      ::std::optional<int64_t> offset) {
  return view_of(self, size, stride, offset.value_or(self.storage_offset()));
}

at::Tensor view_symint(const at::Tensor& self, c10::SymIntArrayRef size) {
  const auto shape = host(self).view(C10_AS_INTARRAYREF_SLOW(size));
  return view_of(self, shape.sizes(), shape.strides(), self.storage_offset());
}

const at::Tensor& resize_(const at::Tensor& self, at::IntArrayRef size, ::std::optional<at::MemoryFormat> format) {
  if (self.sizes() == size) return self;  // What is a view stays one.
  const auto fresh = at::detail::empty_generic(size, &allocator, kKeys, self.scalar_type(), format);
  self.unsafeGetTensorImpl()->set_storage_keep_dtype(fresh.storage());
  self.unsafeGetTensorImpl()->set_sizes_contiguous(size);
  return self;
}

at::Tensor& mul_out(const at::Tensor& self, const at::Tensor& other, at::Tensor& out) {
  auto to = host(out);
  at::mul_out(to, self.is_cpu() ? self : host(self), other.is_cpu() ? other : host(other));
  return out;
}

at::Tensor& cat_out(const at::ITensorListRef& tensors, int64_t dim, at::Tensor& out) {
  std::vector<at::Tensor> parts;
  for (const auto& tensor : tensors) parts.push_back(host(tensor));
  host(out).copy_(at::cat(parts, dim));
  return out;
}

::std::tuple<at::Tensor&, at::Tensor&> max_out(const at::Tensor& self, int64_t dim, bool keepdim, at::Tensor& max,
                                               at::Tensor& max_values) {
  const auto [values, indices] = at::max(host(self), dim, keepdim);
  host(max).copy_(values);
  host(max_values).copy_(indices);
  return {max, max_values};
}

at::Tensor scaled_add(const at::Tensor& x, const at::Tensor& y, double alpha) {
  return device(host(x) + alpha * host(y));
}

::std::tuple<at::Tensor, at::Tensor> minmax(const at::Tensor& x) {
  return {device(host(x).min()), device(host(x).max())};
}

at::Tensor& clip_(at::Tensor& x, double low, ::std::optional<double> high) {
  host(x).clamp_(low, high ? ::std::optional<at::Scalar>(*high) : ::std::nullopt);
  return x;
}

at::Tensor first_rows_symint(const at::Tensor& x, c10::SymInt n) {
  auto sizes = x.sizes().vec();
  sizes.at(0) = n.expect_int();
  return view_of(x, sizes, x.strides(), x.storage_offset());
}

at::Tensor total(at::TensorList xs, const ::std::optional<at::Tensor>& scale) {
  auto sum = at::zeros({}, at::kFloat);
  for (const auto& x : xs) sum += host(x).sum();
  return device(scale ? sum * host(*scale) : sum);
}

::std::vector<at::Tensor> pieces(const at::Tensor& x, at::IntArrayRef sizes) {
  std::vector<at::Tensor> made;
  for (const auto& piece : host(x).split_with_sizes(sizes)) made.push_back(device(piece));
  return made;
}

::std::string describe(const at::Tensor& x, c10::string_view prefix) {
  return std::string(prefix) + " of " + std::to_string(x.dim()) + " dimensions";
}

void increment_all_(at::TensorList xs, const at::Scalar& by) {
  for (const auto& x : xs) host(x).add_(by);
}

::std::tuple<at::Tensor, at::Tensor> power_pair(const at::Tensor& x, const ::std::optional<at::Tensor>& w, int64_t n) {
  const auto power = host(x).pow(n);
  return {device(w ? power * host(*w) : power), device(at::full({}, n))};
}

::std::tuple<at::Tensor, at::Tensor> power_pair_backward(const at::Tensor& grad, const at::Tensor& x,
                                                         const ::std::optional<at::Tensor>& w, int64_t n,
                                                         ::std::array<bool, 2> mask) {
  const bool weighted = w && w->defined();
  at::Tensor slope = grad * n;
  for (int64_t i = 1; i < n; ++i) slope = slope * x;
  return {mask[0] ? (weighted ? slope * *w : slope) : at::Tensor(), mask[1] ? slope * x * (1.0 / n) : at::Tensor()};
}

at::Tensor softplus_of(const at::Tensor& x) { return device(at::softplus(host(x))); }

// Through the generated functions, as the backend's own C++ calls its operators.
at::Tensor twice(const at::Tensor& x) { return sample::ops::scaled_add(x, x); }

}  // namespace sample::native

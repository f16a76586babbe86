// Functions as people of that ecosystem write them, with its own headers.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/tvm_ffi.h>

#include <string>

namespace ffi = tvm::ffi;

namespace {

void add_scaled(ffi::TensorView x, ffi::TensorView y, double alpha, ffi::TensorView out) {
  if (x.ndim() > 2) TVM_FFI_THROW(ValueError) << "x has " << x.ndim() << " dimensions, expected at most 2";
  const auto* a = static_cast<const float*>(x.data_ptr());
  const auto* b = static_cast<const float*>(y.data_ptr());
  for (int64_t i = 0; i < x.numel(); ++i)
    static_cast<float*>(out.data_ptr())[i] = a[i] + static_cast<float>(alpha) * b[i];
}

// What every kind of attribute arrives as.
void describe(ffi::Optional<ffi::TensorView> x, bool flag, int64_t number, double real, ffi::String text,
              ffi::Optional<double> maybe, DLDataType type, ffi::Array<int64_t> ints, ffi::Array<double> floats,
              ffi::Array<bool> bools, ffi::TensorView out) {
  auto* d = static_cast<double*>(out.data_ptr());
  *d++ = x.has_value() ? static_cast<double>(x.value().dtype().bits) : -1;
  *d++ = flag;
  *d++ = static_cast<double>(number);
  *d++ = real;
  *d++ = static_cast<double>(std::string(text).size());
  *d++ = maybe.has_value() ? maybe.value() : -1;
  *d++ = type.code * 1000 + type.bits;
  for (const int64_t item : ints) *d++ = static_cast<double>(item);
  for (const double item : floats) *d++ = item;
  for (const bool item : bools) *d++ = item;
}

void split(ffi::TensorView x, ffi::TensorView low, ffi::TensorView high) {
  for (int64_t i = 0; i < x.numel(); ++i) {
    const int64_t value = static_cast<int64_t*>(x.data_ptr())[i];
    static_cast<int32_t*>(low.data_ptr())[i] = static_cast<int32_t>(value & 0xffff);
    static_cast<int32_t*>(high.data_ptr())[i] = static_cast<int32_t>(value >> 16);
  }
}

void increment(ffi::TensorView x) {
  for (int64_t i = 0; i < x.numel(); ++i) ++static_cast<float*>(x.data_ptr())[i];
}

// 1 where the strides are those of a contiguous tensor.
void contiguous(ffi::TensorView x, ffi::TensorView out) { *static_cast<int32_t*>(out.data_ptr()) = x.IsContiguous(); }

ffi::String length(ffi::TensorView x, ffi::TensorView out) {
  for (int64_t i = 0; i < x.numel(); ++i) static_cast<float*>(out.data_ptr())[i] = 0;
  return "a text that is too long to be stored in place";
}

// As those do that make their outputs.
struct NoMemory {
  void AllocData(DLTensor* tensor) { tensor->data = nullptr; }
  void FreeData(DLTensor*) {}
};
ffi::Tensor fresh(ffi::TensorView, ffi::TensorView) {
  return ffi::Tensor::FromNDAlloc(NoMemory(), {0}, {kDLFloat, 32, 1}, {kDLCPU, 0});
}

}  // namespace

TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_scaled, add_scaled);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(describe, describe);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(split, split);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(increment, increment);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(contiguous, contiguous);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(length, length);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(fresh, fresh);

// The call of other hosts.
extern "C" TVM_FFI_DLL_EXPORT int plain(int, void**, int*, int64_t**, const char**, void*, void*) { return 0; }

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

ffi::Error leaky_relu(double slope, ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> out) {
  const float* from = x.typed_data();
  float* to = out->typed_data();
  for (size_t i = 0; i < x.element_count(); ++i) to[i] = from[i] > 0 ? from[i] : static_cast<float>(slope) * from[i];
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    leaky_relu_xla, leaky_relu,
    ffi::Ffi::Bind().Attr<double>("slope").Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());

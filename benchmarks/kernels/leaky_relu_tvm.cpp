void leaky_relu(tvm::ffi::TensorView x, tvm::ffi::TensorView out, double slope) {
  const DLDataType floats{kDLFloat, 32, 1};
  TVM_FFI_ICHECK(x.dtype() == floats && out.dtype() == floats) << "expected floats";
  TVM_FFI_ICHECK(x.numel() == out.numel()) << "expected as many outputs as inputs";
  const float* from = static_cast<const float*>(x.data_ptr());
  float* to = static_cast<float*>(out.data_ptr());
  for (int64_t i = 0; i < x.numel(); ++i) to[i] = from[i] > 0 ? from[i] : from[i] * static_cast<float>(slope);
}

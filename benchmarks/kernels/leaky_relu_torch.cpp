at::Tensor leaky_relu(const at::Tensor& x, double slope) {
  TORCH_CHECK(x.scalar_type() == at::kFloat && x.is_contiguous(), "expected contiguous floats");
  at::Tensor out = at::empty_like(x);
  const float* from = x.const_data_ptr<float>();
  float* to = out.mutable_data_ptr<float>();
  for (int64_t i = 0; i < x.numel(); ++i) to[i] = from[i] > 0 ? from[i] : from[i] * static_cast<float>(slope);
  return out;
}

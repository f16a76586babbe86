#include <opbridge/kernel.h>

#include <cmath>

namespace {

template <class T>
T inverse_rms(const T* row, int64_t width, T eps) {
  return 1 / std::sqrt(ob::sum(width, [=](int64_t i) { return row[i] * row[i]; }) / T(width) + eps);
}

}  // namespace

template <class T>
void rms_norm(ob::In<T> x, ob::In<T> weight, ob::Out<T> out, double eps) {
  OB_CHECK(x.ndim() > 0 && weight.ndim() == 1 && weight.size(0) == x.size(-1), "weight has shape ", weight.shape(),
           ", expected one number for each of the last dimension of x, which has shape ", x.shape());
  const int64_t width = x.size(-1);
  if (width == 0) return;
  ob::parallel_rows(x.numel() / width, width, [=](int64_t row) {
    const T *in = x.data() + row * width, *w = weight.data();
    T* result = out.data() + row * width;
    const T scale = inverse_rms(in, width, T(eps));
    for (int64_t i = 0; i < width; ++i) result[i] = in[i] * scale * w[i];
  });
}
OB_KERNEL(rms_norm, float, double)

template <class T>
void rms_norm_backward(ob::In<T> grad, ob::In<T> x, ob::In<T> weight, ob::Out<T> grad_x, ob::Out<T> grad_weight,
                       double eps) {
  const int64_t width = x.size(-1), rows = width == 0 ? 0 : x.numel() / width;
  const T* w = weight.data();
  T* total = grad_weight.data();
  for (int64_t i = 0; i < width; ++i) total[i] = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const T *g = grad.data() + row * width, *in = x.data() + row * width;
    T* out = grad_x.data() + row * width;
    const T scale = inverse_rms(in, width, T(eps));
    const T along = ob::sum(width, [=](int64_t i) { return g[i] * w[i] * in[i]; }) * scale * scale / T(width);
    for (int64_t i = 0; i < width; ++i) out[i] = scale * (g[i] * w[i] - in[i] * along);
    for (int64_t i = 0; i < width; ++i) total[i] += g[i] * in[i] * scale;
  }
}
OB_KERNEL(rms_norm_backward, float, double)

template <class T>
void swiglu(ob::In<T> gate, ob::In<T> up, ob::Out<T> out) {
  OB_CHECK(gate.shape() == up.shape(), "up has shape ", up.shape(), ", expected that of gate, ", gate.shape());
  ob::parallel_for(out.numel(), [=](int64_t i) { out[i] = gate[i] * ob::sigmoid(gate[i]) * up[i]; });
}
OB_KERNEL(swiglu, float, double)

template <class T>
void swiglu_backward(ob::In<T> grad, ob::In<T> gate, ob::In<T> up, ob::Out<T> grad_gate, ob::Out<T> grad_up) {
  ob::parallel_for(grad.numel(), [=](int64_t i) {
    const T s = ob::sigmoid(gate[i]);
    grad_gate[i] = grad[i] * up[i] * s * (1 + gate[i] * (1 - s));
    grad_up[i] = grad[i] * gate[i] * s;
  });
}
OB_KERNEL(swiglu_backward, float, double)

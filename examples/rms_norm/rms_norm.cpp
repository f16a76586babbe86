#include <opbridge/kernel.h>

#include <cmath>

namespace {

// Rows are reduced in double, so that long rows of floats lose no digits.
template <class T>
double inverse_rms(const T* row, int64_t n, double eps) {
  const double squares = ob::sum(n, [=](int64_t i) { return double(row[i]) * double(row[i]); });
  return 1 / std::sqrt(squares / double(n) + eps);
}

}  // namespace

template <class T>
void rms_norm(ob::In<T> x, ob::In<T> weight, ob::Out<T> out, double eps) {
  OB_CHECK(x.ndim() > 0 && weight.ndim() == 1 && weight.size(0) == x.size(-1), "weight has shape ", weight.shape(),
           ", expected one number for each of the last dimension of x, which has shape ", x.shape());
  const int64_t n = x.size(-1);
  if (n == 0) return;
  ob::parallel_rows(x.numel() / n, n, [=](int64_t r) {
    const T* row = x.data() + r * n;
    T* result = out.data() + r * n;
    const T scale = T(inverse_rms(row, n, eps));
    for (int64_t i = 0; i < n; ++i) result[i] = row[i] * scale * weight[i];
  });
}
OB_KERNEL(rms_norm, float, double)

template <class T>
void rms_norm_backward(ob::In<T> grad, ob::In<T> x, ob::In<T> weight, ob::Out<T> grad_x, ob::Out<T> grad_weight,
                       double eps) {
  const int64_t n = x.size(-1), rows = n == 0 ? 0 : x.numel() / n;
  double* total = ob::scratch<double>(n);
  for (int64_t i = 0; i < n; ++i) total[i] = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const T *g = grad.data() + r * n, *row = x.data() + r * n;
    const double scale = inverse_rms(row, n, eps);
    const double along = ob::sum(n, [=](int64_t i) { return double(g[i]) * double(weight[i]) * double(row[i]); });
    const double projection = along * scale * scale / double(n);
    for (int64_t i = 0; i < n; ++i) {
      grad_x.data()[r * n + i] = T(scale * (double(g[i]) * double(weight[i]) - double(row[i]) * projection));
      total[i] += double(g[i]) * double(row[i]) * scale;
    }
  }
  for (int64_t i = 0; i < n; ++i) grad_weight[i] = T(total[i]);
}
OB_KERNEL(rms_norm_backward, float, double)

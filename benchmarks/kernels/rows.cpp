// A norm, a softmax and a loss over the rows of a matrix, forward and backward.
#include <opbridge/kernel.h>

#include <algorithm>
#include <cmath>

template <class T>
void layer_norm(ob::In<T> x, ob::In<T> weight, ob::In<T> bias, ob::Out<T> out, ob::Out<T> mean, ob::Out<T> scale,
                double eps) {
  const int64_t width = x.size(-1);
  ob::parallel_rows(mean.numel(), width, [=](int64_t row) {
    const T *from = x.data() + row * width, *w = weight.data(), *b = bias.data();
    T* to = out.data() + row * width;
    const T middle = ob::sum(width, [=](int64_t j) { return from[j]; }) / T(width);
    const T square = ob::sum(width, [=](int64_t j) { return (from[j] - middle) * (from[j] - middle); });
    const T factor = 1 / std::sqrt(square / T(width) + T(eps));
    for (int64_t j = 0; j < width; ++j) to[j] = (from[j] - middle) * factor * w[j] + b[j];
    mean[row] = middle;
    scale[row] = factor;
  });
}
OB_KERNEL(layer_norm, float, double)

// What all rows add up to is added up in so many parts, whatever the number of threads.
constexpr int64_t kParts = 16;

template <class T>
void layer_norm_backward(ob::In<T> grad, ob::In<T> x, ob::In<T> mean, ob::In<T> scale, ob::In<T> weight,
                         ob::Out<T> grad_x, ob::Out<T> grad_weight, ob::Out<T> grad_bias) {
  const int64_t width = x.size(-1), rows = mean.numel(), part_rows = rows / kParts + 1;
  T* sums = ob::scratch<T>(kParts * 2 * width);
  ob::parallel_for(
      kParts,
      [=](int64_t part) {
        T *of_weight = sums + part * 2 * width, *of_bias = of_weight + width;
        for (int64_t j = 0; j < 2 * width; ++j) of_weight[j] = 0;
        const int64_t end = std::min(rows, (part + 1) * part_rows);
        for (int64_t row = part * part_rows; row < end; ++row) {
          const T *g = grad.data() + row * width, *from = x.data() + row * width, *w = weight.data();
          T* to = grad_x.data() + row * width;
          const T middle = mean[row], factor = scale[row];
          const T along = ob::sum(width, [=](int64_t j) {
            const T normal = (from[j] - middle) * factor;
            of_weight[j] += g[j] * normal;
            return g[j] * w[j] * normal;
          });
          const T total = ob::sum(width, [=](int64_t j) {
            of_bias[j] += g[j];
            return g[j] * w[j];
          });
          const T a = along / T(width), b = total / T(width);
          for (int64_t j = 0; j < width; ++j) to[j] = factor * (g[j] * w[j] - b - (from[j] - middle) * factor * a);
        }
      },
      /*grain=*/1);
  for (int64_t j = 0; j < width; ++j) {
    T of_weight = 0, of_bias = 0;
    for (int64_t part = 0; part < kParts; ++part) {
      of_weight += sums[part * 2 * width + j];
      of_bias += sums[(part * 2 + 1) * width + j];
    }
    grad_weight[j] = of_weight;
    grad_bias[j] = of_bias;
  }
}
OB_KERNEL(layer_norm_backward, float, double)

template <class T>
void softmax(ob::In<T> x, ob::Out<T> out) {
  const int64_t width = x.size(-1);
  ob::parallel_rows(x.numel() / width, width, [=](int64_t row) {
    const T* from = x.data() + row * width;
    T* to = out.data() + row * width;
    const T most = ob::maximum(width, [=](int64_t j) { return from[j]; });
    const T sum = ob::sum(width, [=](int64_t j) { return to[j] = std::exp(from[j] - most); });
    const T part = 1 / sum;
    for (int64_t j = 0; j < width; ++j) to[j] *= part;
  });
}
OB_KERNEL(softmax, float, double)

template <class T>
void softmax_backward(ob::In<T> grad, ob::In<T> result, ob::Out<T> out) {
  const int64_t width = grad.size(-1);
  ob::parallel_rows(grad.numel() / width, width, [=](int64_t row) {
    const T *g = grad.data() + row * width, *y = result.data() + row * width;
    T* to = out.data() + row * width;
    const T along = ob::sum(width, [=](int64_t j) { return g[j] * y[j]; });
    for (int64_t j = 0; j < width; ++j) to[j] = (g[j] - along) * y[j];
  });
}
OB_KERNEL(softmax_backward, float, double)

template <class T>
void cross_entropy(ob::In<T> x, ob::In<int64_t> target, ob::Out<T> loss, ob::Out<T> log_sum) {
  const int64_t width = x.size(-1), rows = target.numel();
  ob::parallel_rows(rows, width, [=](int64_t row) {
    OB_CHECK(target[row] >= 0 && target[row] < width, "target ", target[row], " is none of ", width, " classes");
    const T* from = x.data() + row * width;
    const T most = ob::maximum(width, [=](int64_t j) { return from[j]; });
    log_sum[row] = most + std::log(ob::sum(width, [=](int64_t j) { return std::exp(from[j] - most); }));
  });
  const double total =
      ob::sum(rows, [=](int64_t row) { return double(log_sum[row]) - double(x[row * width + target[row]]); });
  loss[0] = T(total / double(rows));
}
OB_KERNEL(cross_entropy, float, double)

template <class T>
void cross_entropy_backward(ob::In<T> grad, ob::In<T> x, ob::In<int64_t> target, ob::In<T> log_sum, ob::Out<T> out) {
  const int64_t width = x.size(-1), rows = target.numel();
  const T part = grad[0] / T(rows);
  ob::parallel_rows(rows, width, [=](int64_t row) {
    const T* from = x.data() + row * width;
    T* to = out.data() + row * width;
    const T log = log_sum[row];
    for (int64_t j = 0; j < width; ++j) to[j] = part * std::exp(from[j] - log);
    to[target[row]] -= part;
  });
}
OB_KERNEL(cross_entropy_backward, float, double)

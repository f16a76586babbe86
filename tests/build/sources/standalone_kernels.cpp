// Kernels whose libraries tests/build/sources/test_standalone.py uses from MindSpore alone.
#include <opbridge/kernel.h>

template <class T>
void scaled_add(ob::In<T> x, ob::In<T> y, ob::Out<T> out, double alpha) {
  ob::parallel_for(out.numel(), [=](int64_t i) { out[i] = x[i] + T(alpha) * y[i]; });
}
OB_KERNEL(scaled_add, float, double)

// Tells what reaches it.
void describe(ob::In<bool> x, ob::Out<double> out, const bool flag, int64_t number, ob::Scalar scalar, ob::String text,
              ob::Optional<double> maybe, ob::Ints ints /* , commas, in a comment */, ob::Floats floats,
              ob::Bools bools, ob::DType type = {}) noexcept(false) {
  const double values[] = {double(x[0]),
                           double(flag),
                           double(number),
                           scalar.to<double>(),
                           double(text.size()),
                           maybe.value_or(-1),
                           ints.empty() ? -1. : double(ints[0]),
                           floats.empty() ? -1. : floats[0],
                           bools.empty() ? -1. : double(bools[0]),
                           double(type.code)};
  for (int i = 0; i < 10; ++i) out[i] = values[i];
}
OB_KERNEL(describe)

template <class T>
void split(ob::In<T> x, ob::Out<T> head, ob::Out<double> tail, int64_t n) {
  if (n < 1) ob::fail("n is ", n);
  for (int64_t i = 0; i < x.numel(); ++i) {
    if (i < n) head[i] = x[i];
    if (i >= n) tail[i - n] = double(x[i]);
  }
}
OB_KERNEL(split, float)

void join(ob::List<ob::In<float>> xs, ob::Out<float> out) {
  int64_t next = 0;
  for (const auto& x : xs)
    for (int64_t i = 0; i < x.numel(); ++i) out[next++] = x[i];
}
OB_KERNEL(join)

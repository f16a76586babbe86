#include <opbridge/kernel.h>

template <class T>
void with_two_numbers(ob::In<T> x, ob::In<T> y, ob::Out<T> out, double by, int64_t n) {
  for (int64_t i = 0; i < out.numel(); ++i) out[i] = x[i] * static_cast<T>(by) + y[i] * static_cast<T>(n);
}
OB_KERNEL(with_two_numbers, double)

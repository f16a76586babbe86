#include <opbridge/kernel.h>

template <class T>
void leaky_relu(ob::In<T> x, ob::Out<T> out, double slope) {
  const T below = T(slope);
  // By value: what a branch alone reads through a reference, GCC does not read ahead, and then the loop stays scalar.
  ob::parallel_for(out.numel(), [=](int64_t i) { out[i] = x[i] > T(0) ? x[i] : x[i] * below; });
}

OB_KERNEL(leaky_relu, float)

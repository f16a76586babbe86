// Functions of the standard library, as kernels have them.
#include <opbridge/kernel.h>

#include <cmath>

template <class T>
void silu(ob::In<T> x, ob::Out<T> out) {
  ob::parallel_for(x.numel(), [=](int64_t i) { out[i] = x[i] / (1 + std::exp(-x[i])); });
}
OB_KERNEL(silu, float)

template <class T>
void tanh_of(ob::In<T> x, ob::Out<T> out) {
  ob::parallel_for(x.numel(), [=](int64_t i) { out[i] = std::tanh(x[i]); });
}
OB_KERNEL(tanh_of, float)

#include <opbridge/kernel.h>

#include <cmath>

template <class T>
void swiglu(ob::In<T> x, ob::In<T> gate, ob::Out<T> out) {
  ob::parallel_for(out.numel(), [=](int64_t i) { out[i] = gate[i] * x[i] / (T(1) + std::exp(-x[i])); });
}
OB_KERNEL(swiglu, float, double)

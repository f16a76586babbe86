#include <opbridge/kernel.h>

template <class T>
void leaky_relu_backward(ob::In<T> grad, ob::In<T> x, ob::Out<T> grad_x, double slope) {
  const T below = T(slope);
  ob::parallel_for(grad_x.numel(), [=](int64_t i) { grad_x[i] = x[i] > T(0) ? grad[i] : grad[i] * below; });
}

OB_KERNEL(leaky_relu_backward, float)

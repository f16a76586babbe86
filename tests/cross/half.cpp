// Halves by rows and one by one, for the bits that another processor gives.
#include <dlfcn.h>
#include <opbridge/halves.h>
#include <opbridge/kernel.h>

extern "C" int widen(int n, const uint16_t* from, float* by_rows, float* one_by_one) {
  const auto* const halves = reinterpret_cast<const ob::half*>(from);
  ob::detail::widen(halves, by_rows, static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) one_by_one[i] = halves[i];
  return 0;
}

extern "C" int narrow(int n, const float* from, uint16_t* by_rows, uint16_t* one_by_one) {
  ob::detail::narrow(from, reinterpret_cast<ob::half*>(by_rows), static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) one_by_one[i] = ob::half(from[i]).bits;
  return 0;
}

extern "C" int arithmetic(int n, const uint16_t* x, const uint16_t* y, uint16_t* out) {
  for (int i = 0; i < n; ++i) {
    const ob::half a = ob::half::from_bits(x[i]), b = ob::half::from_bits(y[i]);
    const ob::half results[] = {a + b, a - b, a * b, a / b};
    for (int k = 0; k < 4; ++k) out[k * n + i] = results[k].bits;
  }
  return 0;
}

template <class T>
void leaky_relu(ob::In<T> x, ob::Out<T> out) {
  ob::parallel_for(x.numel(), [=](int64_t i) { out[i] = float(x[i]) > 0 ? x[i] : T(float(x[i]) * 0.25f); }, 16);
}
OB_KERNEL(leaky_relu, float, ob::half)

// As MindSpore calls it: nothing but the plain C call.
extern "C" int call_leaky_relu(int n, const char* dtype, void* x, void* out) {
  void* tensors[] = {x, out};
  int ranks[] = {1, 1};
  int64_t shape = n;
  int64_t* shapes[] = {&shape, &shape};
  const char* dtypes[] = {dtype, dtype};
  const auto kernel = reinterpret_cast<ob_kernel>(dlsym(RTLD_DEFAULT, "leaky_relu"));
  return kernel(2, tensors, ranks, shapes, dtypes, nullptr, nullptr);
}

#include <opbridge/kernel.h>

#include <stdexcept>
#include <vector>

template <class T>
void scaled_add(ob::In<T> x, ob::In<T> y, ob::Out<T> out, double alpha) {
  ob::parallel_for(out.numel(), [&](int64_t i) { out[i] = x[i] + T(alpha) * y[i]; });
}
OB_KERNEL(scaled_add, float, double)

// Needs the C++ library, and one that is newer than most: a vector's growth, and an exception that leaves the kernel.
template <class T>
void running_sum(ob::In<T> x, ob::Out<T> out, int64_t most) {
  std::vector<T> sums;
  for (int64_t i = 0; i < x.numel(); ++i) {
    if (i == most) throw std::length_error("more than " + std::to_string(most) + " elements");
    sums.push_back(x[i] + (sums.empty() ? T(0) : sums.back()));
  }
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = sums[i];
}
OB_KERNEL(running_sum, float, double)

// The compiler's word for the processor that this copy is for.
void copy_for(ob::Out<int64_t> out) {
#if defined(__AVX512F__)
  out[0] = 512;
#elif defined(__AVX2__)
  out[0] = 256;
#else
  out[0] = 128;
#endif
}
OB_KERNEL(copy_for)

// Twelve kernels with one bug each, of the kinds that reviews miss.
#include <fcntl.h>
#include <opbridge/kernel.h>

#include <cmath>
#include <cstdlib>
#include <vector>

template <class T>
void writes_out_of_bounds(ob::In<T> x, ob::Out<T> out) {
  T* to = out.data();
  for (int64_t i = 0; i <= x.numel(); ++i) to[i] = i < x.numel() ? x[i] : T(0);
}
OB_KERNEL(writes_out_of_bounds, float, double)

// Right itself; its declaration says `grad * x`.
template <class T>
void wrong_gradient(ob::In<T> x, ob::Out<T> out) {
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x[i] * x[i];
}
OB_KERNEL(wrong_gradient, float, double)

// All threads share one buffer.
template <class T>
void races(ob::In<T> x, ob::Out<T> out) {
  static std::vector<T> buffer;
  if (buffer.size() < size_t(x.numel())) buffer.resize(size_t(x.numel()));
  for (int64_t i = 0; i < x.numel(); ++i) buffer[size_t(i)] = x[i] * 2;
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = buffer[size_t(i)];
}
OB_KERNEL(races, float, double)

// Normalises the first row alone.
template <class T>
void forgets_the_batch(ob::In<T> x, ob::Out<T> out) {
  T sum = 0;
  const int64_t width = x.numel() > 0 ? x.size(-1) : 0;
  for (int64_t i = 0; i < width; ++i) sum += std::exp(x[i]);
  for (int64_t i = 0; i < width; ++i) out[i] = std::exp(x[i]) / sum;
}
OB_KERNEL(forgets_the_batch, float, double)

template <class T>
void ignores_strides(ob::In<T, ob::strided> x, ob::Out<T> out) {
  for (int64_t i = 0; i < out.numel(); ++i) out[i] = std::exp(x.data()[i]);
}
OB_KERNEL(ignores_strides, float, double)

template <class T>
void writes_its_input(ob::In<T> x, ob::Out<T> out) {
  T* from = const_cast<T*>(x.data());
  for (int64_t i = 0; i < x.numel(); ++i) from[i] = x[i] < 0 ? T(0) : x[i];
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = from[i];
}
OB_KERNEL(writes_its_input, float, double)

template <class T>
void leaks_a_file(ob::In<T> x, ob::Out<T> out) {
  if (open("/dev/null", O_RDONLY) < 0) ob::fail("cannot open /dev/null");
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x[i];
}
OB_KERNEL(leaks_a_file, float, double)

// Adds to memory that nobody has set to zero.
template <class T>
void reads_uninitialised_memory(ob::In<T> x, ob::Out<T> out) {
  T* sums = static_cast<T*>(std::malloc(size_t(x.numel() + 1) * sizeof(T)));
  for (int64_t i = 0; i < x.numel(); ++i) sums[i] += x[i];
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = sums[i];
  std::free(sums);
}
OB_KERNEL(reads_uninitialised_memory, float, double)

// Gives what it takes; its declaration says int64.
template <class T>
void wrong_dtype(ob::In<T> x, ob::Out<T> out) {
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x[i];
}
OB_KERNEL(wrong_dtype, float, double)

// One sum a row; its declaration says that the output is as large as the input.
template <class T>
void wrong_shape_rule(ob::In<T> x, ob::Out<T> out) {
  const int64_t width = x.numel() > 0 ? x.size(-1) : 0;
  for (int64_t row = 0; width > 0 && row < x.numel() / width; ++row) {
    T sum = 0;
    for (int64_t i = 0; i < width; ++i) sum += x[row * width + i];
    out[row] = sum;
  }
}
OB_KERNEL(wrong_shape_rule, float, double)

template <class T>
void swallows_nan(ob::In<T> x, ob::Out<T> out) {
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x[i] > 0 ? x[i] : T(0);
}
OB_KERNEL(swallows_nan, float, double)

// Four at a time, and of the rest the last one again and again.
template <class T>
void wrong_at_odd_sizes(ob::In<T> x, ob::Out<T> out) {
  const int64_t n = x.numel(), whole = n / 4 * 4;
  for (int64_t i = 0; i < whole; ++i) out[i] = x[i] * x[i];
  for (int64_t i = whole; i < n; ++i) out[i] = x[n - 1] * x[n - 1];
}
OB_KERNEL(wrong_at_odd_sizes, float, double)

// Not of the twelve: one element too many, which is right where it may be read.
template <class T>
void reads_out_of_bounds(ob::In<T> x, ob::Out<T> out) {
  const T* from = x.data();
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = from[i] + (from[i + 1] > T(1e30) ? T(1) : T(0));
}
OB_KERNEL(reads_out_of_bounds, float, double)

// Not of the twelve: its second output has a gradient, too, which its declaration forgets.
template <class T>
void forgets_an_output(ob::In<T> x, ob::Out<T> squares, ob::Out<T> doubles) {
  for (int64_t i = 0; i < x.numel(); ++i) squares[i] = x[i] * x[i], doubles[i] = 2 * x[i];
}
OB_KERNEL(forgets_an_output, float, double)

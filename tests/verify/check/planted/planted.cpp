// Operators with one bug each, of the kinds that pass where inputs are few, small and ordinary.
#include <opbridge/kernel.h>

#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

// Written and read by all threads; with few elements each is done before the next begins.
template <class T>
void shared_buffer(ob::In<T> x, ob::Out<T> out) {
  static std::vector<T> buffer;
  if (buffer.size() < size_t(x.numel())) buffer.resize(size_t(x.numel()));
  for (int64_t i = 0; i < x.numel(); ++i) buffer[size_t(i)] = x[i] * 2;
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = buffer[size_t(i)];
}
OB_KERNEL(shared_buffer, float, double)

// The order in which threads add is another each time, which shows over millions of elements.
template <class T>
void sum_in_any_order(ob::In<T> x, ob::Out<T> out) {
  std::atomic<T> sum{0};
  constexpr int64_t block = 1 << 14;
  const int64_t blocks = (x.numel() + block - 1) / block;
  if (x.numel() < 1000000) {
    T all = 0;
    for (int64_t i = 0; i < x.numel(); ++i) all += x[i];
    out[0] = all;
    return;
  }
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int64_t b = t; b < blocks; b += 4) {
        T part = 0;
        for (int64_t i = b * block; i < std::min(x.numel(), (b + 1) * block); ++i) part += x[i];
        T seen = sum.load();
        while (!sum.compare_exchange_weak(seen, seen + part)) {
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  out[0] = sum.load();
}
OB_KERNEL(sum_in_any_order, float, double)

template <class T>
void reads_behind(ob::In<T> x, ob::Out<T> out) {
  const T* from = x.data();
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = from[i] + (from[i + 1] > T(1e30) ? T(1) : T(0));
}
OB_KERNEL(reads_behind, float, double)

template <class T>
void reads_before(ob::In<T> x, ob::Out<T> out) {
  const T* from = x.data();
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = from[i - 1] > 0 && i > 0 ? from[i] : from[i] + T(0);
}
OB_KERNEL(reads_before, float, double)

template <class T>
void by_way_of_float(ob::In<T> x, ob::Out<T> out) {
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = T(std::exp(float(x[i])));
}
OB_KERNEL(by_way_of_float, float, double)

template <class T>
void sum_by_way_of_float(ob::In<T> x, ob::Out<T> out) {
  float sum = 0;
  for (int64_t i = 0; i < x.numel(); ++i) sum += float(x[i]);
  out[0] = T(sum);
}
OB_KERNEL(sum_by_way_of_float, float, double)

// 2048 and 1 is 2048.
template <class T>
void mean_in_half(ob::In<T> x, ob::Out<T> out) {
  T sum = T(0);
  for (int64_t i = 0; i < x.numel(); ++i) sum = T(sum + x[i] / T(64));
  out[0] = T(sum / T(x.numel()) * T(64));
}
OB_KERNEL(mean_in_half, float, double, ob::half)

// Where a whole vector of elements fits, NaN is passed on, and behind it dropped.
template <class T>
void relu_with_a_tail(ob::In<T> x, ob::Out<T> out) {
  const int64_t whole = x.numel() / 8 * 8;
  for (int64_t i = 0; i < whole; ++i) out[i] = x[i] < 0 ? T(0) : x[i];
  for (int64_t i = whole; i < x.numel(); ++i) out[i] = x[i] > 0 ? x[i] : T(0);
}
OB_KERNEL(relu_with_a_tail, float, double)

template <class T>
void another_way_in_float(ob::In<T> x, ob::Out<T> out) {
  for (int64_t i = 0; i < x.numel(); ++i) {
    if (sizeof(T) == 4)
      out[i] = x[i] / (T(1) + std::abs(x[i]));
    else
      out[i] = std::isinf(x[i]) ? std::copysign(T(1), x[i]) : x[i] / (T(1) + std::abs(x[i]));
  }
}
OB_KERNEL(another_way_in_float, float, double)

template <class T>
void never_ends_for_nan(ob::In<T> x, ob::Out<T> out) {
  for (int64_t i = 0; i < x.numel(); ++i) {
    volatile T left = x[i];
    while (!(left <= 2)) left = left / 2;
    out[i] = left;
  }
}
OB_KERNEL(never_ends_for_nan, float, double)

template <class T>
void remembers_the_largest(ob::In<T> x, ob::Out<T> out) {
  static T largest = 2;
  for (int64_t i = 0; i < x.numel(); ++i) largest = std::max(largest, x[i]);
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x[i] / largest;
}
OB_KERNEL(remembers_the_largest, float, double)

template <class T>
void drops_nan(ob::In<T> x, ob::Out<T> out) {
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x[i] > 0 ? x[i] : T(0);
}
OB_KERNEL(drops_nan, float, double)

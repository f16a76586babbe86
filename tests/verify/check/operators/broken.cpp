// Operators that are wrong, each in one way.
#include <opbridge/kernel.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

template <class T>
void square(ob::In<T> x, ob::Out<T> out) {
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x[i] * x[i];
}
OB_KERNEL(square, float, double)

template <class T>
void coarse_square(ob::In<T> x, ob::Out<T> out) {
  for (int64_t i = 0; i < x.numel(); ++i) {
    const float value = float(x[i]) + 1000.0f;
    out[i] = T(value * value - 1e6f - 2000.0f * float(x[i]));
  }
}
OB_KERNEL(coarse_square, float, double)

template <class T>
void one_too_many(ob::In<T> x, ob::Out<T> out) {
  T* place = out.data();
  for (int64_t i = 0; i <= x.numel(); ++i) place[i] = T(1);
}
OB_KERNEL(one_too_many, float, double)

template <class T>
void one_too_few(ob::In<T> x, ob::Out<T> out) {
  for (int64_t i = 0; i + 1 < x.numel(); ++i) out[i] = x[i];
}
OB_KERNEL(one_too_few, float, double)

template <class T>
void first_row(ob::In<T> x, ob::Out<T> out) {
  // Of no rows there is no first one: whoever writes there spoils the memory of the operators after it.
  for (int64_t i = 0; i < x.size(-1) && i < x.numel(); ++i) out[i] = x[i];
}
OB_KERNEL(first_row, float, double)

template <class T>
void racing_sum(ob::In<T> x, ob::Out<T> out) {
  T sum = 0;
  auto work = [&] {
    for (int64_t i = 0; i < x.numel(); ++i) sum += x[i];
  };
  std::thread other(work);
  work();
  other.join();
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = sum;
}
OB_KERNEL(racing_sum, float, double)

template <class T>
void overflows(ob::In<T> x, ob::Out<T> out) {
  int sum = 2147483647;
  for (int64_t i = 0; i < x.numel(); ++i) {
    sum += 1;
    out[i] = T(sum);
  }
}
OB_KERNEL(overflows, float, double)

template <class T>
void crashes(ob::In<T> x, ob::Out<T> out) {
  if (x.numel() == 1 || x.numel() > 100000) raise(SIGSEGV);
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x[i];
}
OB_KERNEL(crashes, float, double)

template <class T>
void hangs(ob::In<T> x, ob::Out<T> out) {
  while (x.numel() == 1) sleep(1);
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x[i];
}
OB_KERNEL(hangs, float, double)

template <class T>
void leaks(ob::In<T> x, ob::Out<T> out) {
  T* buffer = static_cast<T*>(malloc(100));
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x[i] + (buffer ? T(0) : T(1));
}
OB_KERNEL(leaks, float, double)

template <class T>
void scribbles(ob::In<T> x, ob::Out<T> out) {
  for (int64_t i = 0; i < x.numel(); ++i) {
    out[i] = x[i] + T(1);
    const_cast<T*>(x.data())[i] = T(0);
  }
}
OB_KERNEL(scribbles, float, double)

template <class T>
void counts(ob::In<T> x, ob::Out<T> out) {
  static int64_t calls = 0;
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = T(calls);
  ++calls;
}
OB_KERNEL(counts, float, double)

template <class T>
void forgets_strides(ob::In<T, ob::strided> x, ob::Out<T> out) {
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x.data()[i];
}
OB_KERNEL(forgets_strides, float, double)

// How many threads are inside, which a single thread never sees to be another number than 1.
template <class T>
void crowded(ob::In<T> x, ob::Out<T> out) {
  static std::atomic<int> inside{0};
  ++inside;
  usleep(200);
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = T(inside.load());
  --inside;
}
OB_KERNEL(crowded, float, double)

template <class T>
void coarse_in_half(ob::In<T> x, ob::Out<T> out) {
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = sizeof(T) == 2 ? T(0) : x[i];
}
OB_KERNEL(coarse_in_half, float, double, ob::half)

template <class T>
void rejects_nothing(ob::In<T> x, ob::Out<T> out) {
  if (x.numel() == 0) throw 1;
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x.numel() > 1000 ? T(0) : x[i];
}
OB_KERNEL(rejects_nothing, float, double)

template <class T>
void gram(ob::In<T> x, ob::Out<T> out) {
  for (int64_t i = 0; i < x.size(0); ++i)
    for (int64_t j = 0; j < x.size(0); ++j) {
      out(i, j) = 0;
      for (int64_t k = 0; k < x.size(1); ++k) out(i, j) += x(i, k) * x(j, k);
    }
}
OB_KERNEL(gram, float, double)

template <class T>
void row_sum(ob::In<T> x, ob::Out<T> out) {
  T sum = 0;
  for (int64_t i = 0; i < x.numel(); ++i) sum += x[i];
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = sum;
}
OB_KERNEL(row_sum, float, double)

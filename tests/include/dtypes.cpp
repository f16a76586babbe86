// Conversions and arithmetic of the 16-bit types, element by element and bit by bit.
#include <opbridge/halves.h>
#include <opbridge/kernel.h>

#include <algorithm>
#include <cmath>

template <class T>
void widen(ob::In<T> x, ob::Out<float> out) {
  ob::parallel_for(x.numel(), [=](int64_t i) { out[i] = x[i]; });
}
OB_KERNEL(widen, ob::half, ob::bfloat16)

template <class T>
void narrow(ob::In<float> x, ob::Out<T> out) {
  ob::parallel_for(x.numel(), [=](int64_t i) { out[i] = x[i]; });
}
OB_KERNEL(narrow, ob::half, ob::bfloat16)

// By rows; a row need not begin or end where the processor's vectors do.
void widen_rows(ob::In<ob::half> x, ob::Out<float> out) {
  constexpr int64_t kRow = 37;
  for (int64_t i = 0; i < x.numel(); i += kRow) {
    ob::detail::widen(x.data() + i, out.data() + i, static_cast<size_t>(std::min(kRow, x.numel() - i)));
  }
}
OB_KERNEL(widen_rows)

void narrow_rows(ob::In<float> x, ob::Out<ob::half> out) {
  constexpr int64_t kRow = 37;
  for (int64_t i = 0; i < x.numel(); i += kRow) {
    ob::detail::narrow(x.data() + i, out.data() + i, static_cast<size_t>(std::min(kRow, x.numel() - i)));
  }
}
OB_KERNEL(narrow_rows)

template <class T>
void arithmetic(ob::In<T> x, ob::In<T> y, ob::Out<T> sum, ob::Out<T> difference, ob::Out<T> product, ob::Out<T> ratio,
                ob::Out<T> negative) {
  ob::parallel_for(x.numel(), [=](int64_t i) {
    sum[i] = x[i] + y[i];
    T d = x[i];
    d -= y[i];
    difference[i] = d;
    product[i] = x[i] * y[i];
    ratio[i] = x[i] / y[i];
    negative[i] = -x[i];
  });
}
OB_KERNEL(arithmetic, ob::half, ob::bfloat16)

// What authors write must keep its type: halves stay halves, and wider types win.
template <class T, class U>
constexpr bool same = std::is_same<T, U>::value;
static_assert(same<decltype(ob::half() + ob::half()), ob::half>);
static_assert(same<decltype(ob::half() * 1.0f), float>);
static_assert(same<decltype(2.0 * ob::bfloat16()), double>);
static_assert(same<decltype(ob::half() * 2), float>);
static_assert(same<decltype(ob::half() + ob::bfloat16()), float>);
static_assert(same<decltype(std::exp(ob::half())), float>);
static_assert(same<decltype(true ? ob::half() : ob::half() * ob::half(2)), ob::half>);
static_assert(same<ob::opmath<ob::half>, float> && same<ob::opmath<double>, double>);
static_assert(std::is_trivial<ob::half>::value && sizeof(ob::half) == 2 && alignof(ob::half) == 2);
static_assert(std::is_trivial<ob::bfloat16>::value && sizeof(ob::bfloat16) == 2);
static_assert(ob::dtype_of<ob::half>.code == OB_float16 && ob::dtype_of<ob::half>.itemsize() == 2);

template <class T>
void limits(ob::Out<T> out) {
  using L = std::numeric_limits<T>;
  const T values[] = {L::min(), L::max(), L::lowest(), L::epsilon(), L::infinity(), L::quiet_NaN(), L::denorm_min()};
  for (int64_t i = 0; i < out.numel(); ++i) out[i] = values[i];
}
OB_KERNEL(limits, ob::half, ob::bfloat16)

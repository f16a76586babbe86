// Kernels that show what arrives of each kind of argument.
#include <opbridge/kernel.h>

#include <cmath>

// One number for every attribute, in the schema's order.
void attributes(ob::In<ob::any> x, ob::Out<double> out, int64_t whole, double real, bool flag, ob::String text,
                ob::Ints pair, ob::Floats reals, ob::Bools flags, ob::DType type, ob::Optional<int64_t> maybe,
                ob::Scalar number) {
  OB_CHECK(pair.size() == 2);
  double* to = out.data();
  *to++ = static_cast<double>(x.numel());
  *to++ = static_cast<double>(whole);
  *to++ = real;
  *to++ = flag;
  *to++ = static_cast<double>(text.size());
  for (const int64_t value : pair) *to++ = static_cast<double>(value);
  *to++ = static_cast<double>(reals.size());
  *to++ = reals.empty() ? 0 : reals[0];
  *to++ = static_cast<double>(flags.size());
  *to++ = flags.empty() ? 0 : flags[0];
  *to++ = type.code;
  *to++ = maybe ? static_cast<double>(*maybe) : -1;
  *to++ = number.is_integral() ? 1 : 0;
  *to++ = number.to<double>();
}
OB_KERNEL(attributes)

template <class T>
void add_bias(ob::In<T> x, ob::Optional<ob::In<T>> bias, ob::Out<T> out) {
  const int64_t columns = x.size(-1);
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x[i] + (bias ? (*bias)[i % columns] : T(0));
}
OB_KERNEL(add_bias, float, double)

template <class T>
void weighted_sum(ob::List<ob::In<T>> xs, ob::Out<T> out, ob::Floats weights) {
  OB_CHECK(xs.size() == weights.size(), "weighted_sum: ", xs.size(), " tensors and ", weights.size(), " weights");
  for (int64_t i = 0; i < out.numel(); ++i) {
    out[i] = 0;
    for (int64_t k = 0; k < xs.size(); ++k) out[i] += T(weights[k]) * xs[k][i];
  }
}
OB_KERNEL(weighted_sum, float, double)

template <class T>
void sum_present(ob::In<T> x, ob::List<ob::Optional<ob::In<T>>> others, ob::Out<T> out) {
  for (int64_t i = 0; i < x.numel(); ++i) {
    out[i] = x[i];
    for (const auto& other : others) out[i] += other ? (*other)[i] : T(0);
  }
}
OB_KERNEL(sum_present, float, double)

// None and an empty list are one to a kernel's ob::Optional.
void count_tensors(ob::In<float>, ob::Optional<ob::List<ob::In<float>>> others, ob::Out<int64_t> out) {
  OB_CHECK(!others || others->size() > 0);
  out[0] = 1 + (others ? others->size() : 0);
}
OB_KERNEL(count_tensors)

void number_or_nan(ob::In<float>, ob::Out<double> out, ob::Optional<ob::Scalar> number) {
  out[0] = number ? number->to<double>() : NAN;
}
OB_KERNEL(number_or_nan)

void count_up(ob::Out<double> out, int64_t n, double start) {
  for (int64_t i = 0; i < n; ++i) out[i] = start + static_cast<double>(i);
}
OB_KERNEL(count_up)

static double noted;

void note(ob::In<double> x) { noted = x[0]; }
OB_KERNEL(note)

void last_note(ob::Out<double> out) { out[0] = noted; }
OB_KERNEL(last_note)

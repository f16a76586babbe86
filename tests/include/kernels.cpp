// One kernel for each thing kernel.h promises; test_kernel_header.py calls them.
#include <opbridge/complex.h>

#include <stdexcept>
#include <string>
#include <vector>

template <class T>
void scaled_add(ob::In<T> x, ob::In<T> y, ob::Out<T> out, double alpha) {
  ob::parallel_for(out.numel(), [&](int64_t i) { out[i] = x[i] + T(alpha) * y[i]; });
}
OB_KERNEL(scaled_add, float, double, ob::half, ob::bfloat16, int64_t, uint8_t, std::complex<float>)

// Attributes, in every position but the usual one.
void attributes(double d, float f, ob::Out<double> out, int64_t wide, int narrow, bool flag, ob::Scalar scalar,
                ob::Optional<double> maybe_d, ob::Optional<int64_t> maybe_i, ob::String text, ob::Ints ints,
                ob::Floats floats, ob::Bools bools, ob::DType dtype) {
  OB_CHECK(out.numel() == 14);
  int64_t i = 0;
  out[i++] = d;
  out[i++] = f;
  out[i++] = static_cast<double>(wide);
  out[i++] = narrow;
  out[i++] = flag;
  out[i++] = scalar.to<double>();
  out[i++] = scalar.is_integral();
  out[i++] = maybe_d ? *maybe_d : -1;
  out[i++] = static_cast<double>(maybe_i.value_or(-1));
  out[i++] = text == "text" ? static_cast<double>(text.size()) : -1;
  out[i] = 0;
  for (const int64_t value : ints) out[i] += static_cast<double>(value);
  out[++i] = 0;
  for (const double value : floats) out[i] += value;
  out[++i] = bools[0] * 10 + bools[1];
  out[++i] = static_cast<double>(dtype.itemsize());
}
OB_KERNEL(attributes)

template <class T>
void fill(ob::Out<T> out, T value) {
  for (int64_t i = 0; i < out.numel(); ++i) out[i] = value;
}
OB_KERNEL(fill, float, int32_t, uint8_t, ob::half)

template <class T>
void gather(ob::Out<T> out, ob::In<T> x, ob::In<int64_t> index) {
  for (int64_t i = 0; i < index.numel(); ++i) out[i] = x[index[i]];
}
OB_KERNEL(gather, float, int64_t)

template <class T>
void transpose(const ob::In<T>& x, ob::Out<T> out) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    for (int64_t j = 0; j < x.size(-1); ++j) out(j, i) = x(i, j);
  }
}
OB_KERNEL(transpose, float)

template <class T>
void pack(ob::In<T, ob::strided> x, ob::Out<T> out) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    for (int64_t j = 0; j < x.size(1); ++j) out(i, j) = x(i, j);
  }
}
OB_KERNEL(pack, float)

void describe(ob::In<ob::any, ob::strided> x, ob::Out<int64_t> out) {
  out[0] = x.dtype().code;
  out[1] = x.numel();
  out[2] = x.ndim();
  out[3] = x.size(-1);
  out[4] = x.stride(0);
  out[5] = x.is_contiguous();
  out[6] = static_cast<const unsigned char*>(x.data())[0];
}
OB_KERNEL(describe)

template <class T>
void linear(ob::In<T> x, ob::Optional<ob::In<T>> bias, ob::Out<T> out) {
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x[i] + (bias ? (*bias)[i % bias->numel()] : T(0));
}
OB_KERNEL(linear, float)

template <class T>
void concat(ob::List<ob::In<T>> xs, ob::Out<T> out) {
  int64_t at = 0;
  for (const ob::In<T>& x : xs) {
    for (int64_t i = 0; i < x.numel(); ++i) out[at++] = x[i];
  }
  OB_CHECK(at == out.numel(), "the ", xs.size(), " inputs have ", at, " elements, the output has ", out.numel());
}
OB_KERNEL(concat, float)

template <class T>
void split(ob::In<T> x, ob::List<ob::Out<T>> parts) {
  int64_t at = 0;
  for (const ob::Out<T>& part : parts) {
    for (int64_t i = 0; i < part.numel(); ++i) part[i] = x[at++];
  }
}
OB_KERNEL(split, float)

// A list that may have holes, as in Tensor?[].
void count_present(ob::List<ob::Optional<ob::In<float>>> xs, ob::Out<int64_t> out) {
  out[0] = 0;
  for (const auto& x : xs) out[0] += x ? x->numel() : 0;
}
OB_KERNEL(count_present)

void accumulate(ob::InOut<float> self, ob::In<float> x) {
  for (int64_t i = 0; i < x.numel(); ++i) self[i] += x[i];
}
OB_KERNEL(accumulate)

// The output's type follows from T without being T.
template <class T>
void total(ob::In<T> x, ob::Out<ob::opmath<T>> out) {
  using Sum = ob::opmath<T>;
  out[0] = ob::parallel_reduce(
      x.numel(), Sum(0), [=](int64_t i) { return Sum(x[i]); }, [](Sum a, Sum b) { return a + b; }, 1000);
}
OB_KERNEL(total, float, double, ob::half)

// A reduction over a plain struct keeps the order of its items.
struct Interval {
  int64_t first, last;
  bool ordered;
};

void chain(ob::Out<int64_t> out, int64_t n) {
  const auto whole = ob::parallel_reduce(
      n, Interval{-1, -1, true}, [](int64_t i) { return Interval{i, i, true}; },
      [](Interval a, Interval b) { return Interval{a.first, b.last, a.ordered && b.ordered && b.first == a.last + 1}; },
      7);
  out[0] = whole.ordered;
  out[1] = whole.last;
}
OB_KERNEL(chain)

// One number for each row of x, of all that there are.
template <class T>
void row_numbers(ob::In<T> x, ob::Out<ob::opmath<T>> sums, ob::Out<ob::opmath<T>> most, ob::Out<ob::opmath<T>> least) {
  const int64_t width = x.size(1);
  ob::parallel_rows(x.size(0), width, [=](int64_t row) {
    const auto element = [=](int64_t j) { return x[row * width + j]; };
    sums[row] = ob::sum(width, element);
    most[row] = ob::maximum(width, element);
    least[row] = ob::minimum(width, element);
  });
}
OB_KERNEL(row_numbers, float, double, int64_t, ob::half)

void masked_fill(ob::In<float> x, ob::In<bool> mask, ob::Out<float> out) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    for (int64_t j = 0; j < x.size(1); ++j) out(i, j) = mask(i, j) && mask[i * x.size(1) + j] ? -1 : x(i, j);
  }
}
OB_KERNEL(masked_fill)

template <class T>
void choose(ob::In<T> x, ob::In<T> y, ob::In<bool> mask, ob::Out<T> out, double factor) {
  ob::map(out, [=](auto a, auto b, bool take) { return take ? a : b * ob::opmath<T>(factor); }, x, y, mask);
}
OB_KERNEL(choose, float, int64_t, ob::half, ob::bfloat16)

int returns(ob::In<float>, int64_t code) { return static_cast<int>(code); }
OB_KERNEL(returns)

struct Status {
  std::string text;
  bool ok() const { return text.empty(); }
  const std::string& message() const { return text; }
};

Status status(ob::In<float> x) { return Status{x.numel() > 2 ? "too long for me" : ""}; }
OB_KERNEL(status)

void checks(ob::In<float> x, ob::String name) {
  const std::vector<double> steps = {0.5, 2};
  OB_CHECK(x.ndim() == 2, "x must have 2 dimensions, got ", x.ndim(), ": ", x.shape(), ' ' == 32, " named ", name, 1.5f,
           " ", 0.1, " ", x.dtype(), " ", steps, " ", uint64_t{18446744073709551615u}, std::string(" done"));
}
OB_KERNEL(checks)

void throws(ob::In<float> x, int64_t what) {
  if (what == 0) throw std::runtime_error("out of luck");
  if (what == 1) throw 1;
  if (what == 2) ob::fail(std::string(5000, 'x'));
  x.size(9);
}
OB_KERNEL(throws)

// Which pieces ran, whether inner loops ran whole, and what came of an exception.
void loops(ob::Out<int64_t> visits, int64_t grain, int64_t throw_at) {
  const auto visit = [=](int64_t begin, int64_t end) {
    OB_CHECK(throw_at < begin || throw_at >= end, "stopped at ", throw_at);
    auto* weight = ob::scratch<int64_t>(1);
    *weight = 1;
    ob::parallel_for(end - begin, [=](int64_t i) { visits[begin + i] += *weight; }, 1);
  };
  ob::parallel_for(visits.numel(), visit, grain);
}
OB_KERNEL(loops)

void scratch(ob::Out<int64_t> out) {
  auto* a = ob::scratch<double>(1000);
  auto* b = static_cast<char*>(ob::scratch(1));
  a[999] = 1;
  b[0] = 1;
  out[0] = reinterpret_cast<uintptr_t>(a) % 64 == 0 && reinterpret_cast<uintptr_t>(b) % 64 == 0;
  out[1] = static_cast<void*>(a) != static_cast<void*>(b);
}
OB_KERNEL(scratch)

void too_much(ob::Out<int64_t>, int64_t n) { ob::scratch<int64_t>(n); }
OB_KERNEL(too_much)

void context(ob::Context context, ob::Out<int64_t> out) {
  out[0] = context.device().type;
  out[1] = context.device().index;
  out[2] = static_cast<int64_t>(reinterpret_cast<uintptr_t>(context.stream()));
  out[3] = static_cast<int64_t>(strlen(context.op()));
}
OB_KERNEL(context)

namespace inside {
void a_namespace(ob::Out<float> out) noexcept { out[0] = 1; }
OB_KERNEL(a_namespace)
}  // namespace inside

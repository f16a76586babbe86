// The sample backend's library: C functions over memory.  Nothing here knows of PyTorch; DLPack's header is plain C.

#include <ATen/dlpack.h>

#include <cmath>
#include <cstdint>
#include <cstring>

namespace {

template <class T>
struct List {
  const T* data;
  int64_t size;
};

int64_t count(const DLTensor* t) {
  int64_t all = 1;
  for (int i = 0; i < t->ndim; ++i) all *= t->shape[i];
  return all;
}

// Where the element is that stands at `index` of a tensor of the shape of `like`.
int64_t offset(const DLTensor* t, const DLTensor* like, int64_t index) {
  int64_t found = 0;
  for (int i = like->ndim - 1; i >= 0; --i) {
    const int64_t place = index % like->shape[i];
    index /= like->shape[i];
    const int own = i - (like->ndim - t->ndim);
    if (own >= 0 && t->shape[own] != 1) found += place * t->strides[own];
  }
  return found;
}

double read(const DLTensor* t, int64_t at) {
  switch (t->dtype.code * 1000 + t->dtype.bits) {
    case kDLFloat * 1000 + 32:
      return static_cast<const float*>(t->data)[at];
    case kDLFloat * 1000 + 64:
      return static_cast<const double*>(t->data)[at];
    case kDLInt * 1000 + 64:
      return static_cast<double>(static_cast<const int64_t*>(t->data)[at]);
    case kDLBool * 1000 + 8:
      return static_cast<const bool*>(t->data)[at];
    default:
      return NAN;
  }
}

double get(const DLTensor* t, const DLTensor* like, int64_t index) { return read(t, offset(t, like, index)); }

void put(const DLTensor* t, int64_t index, double value) {
  const int64_t at = offset(t, t, index);
  switch (t->dtype.code * 1000 + t->dtype.bits) {
    case kDLFloat * 1000 + 32:
      static_cast<float*>(t->data)[at] = static_cast<float>(value);
      break;
    case kDLFloat * 1000 + 64:
      static_cast<double*>(t->data)[at] = value;
      break;
    case kDLInt * 1000 + 64:
      static_cast<int64_t*>(t->data)[at] = static_cast<int64_t>(value);
      break;
    default:
      static_cast<bool*>(t->data)[at] = value != 0;
  }
}

template <class F>
int fill(const DLTensor* out, F value) {
  for (int64_t i = 0; i < count(out); ++i) put(out, i, value(i));
  return 0;
}

}  // namespace

extern "C" {

int sampleSilu(const DLTensor* x, const DLTensor* out) {
  return fill(out, [&](int64_t i) { return get(x, out, i) / (1 + std::exp(-get(x, out, i))); });
}

int sampleSigmoid(const DLTensor* x, const DLTensor* out) {
  return fill(out, [&](int64_t i) { return 1 / (1 + std::exp(-get(x, out, i))); });
}

int sampleLogicalAnd(const DLTensor* x, const DLTensor* y, const DLTensor* out) {
  return fill(out, [&](int64_t i) { return get(x, out, i) != 0 && get(y, out, i) != 0; });
}

int sampleSoftShift(const DLTensor* x, float by, bool flip, const DLTensor* out) {
  return fill(out, [&](int64_t i) { return (flip ? -get(x, out, i) : get(x, out, i)) + by; });
}

int sampleRowAffine(const DLTensor* x, const DLTensor* gamma, const DLTensor* beta, const char* form, double gain,
                    const DLTensor* y, const DLTensor* mean) {
  if (std::strcmp(form, "rows") != 0) return 22;
  fill(y, [&](int64_t i) { return gain * get(x, x, i) * get(gamma, x, i) + (beta ? get(beta, x, i) : 0); });
  const int64_t columns = x->shape[1];
  return fill(mean, [&](int64_t row) {
    double sum = 0;
    for (int64_t i = 0; i < columns; ++i) sum += get(x, x, row * columns + i);
    return sum / static_cast<double>(columns);
  });
}

int sampleGatherRows(const DLTensor* x, List<int64_t> rows, const DLTensor* out) {
  const int64_t columns = x->shape[1];
  return fill(out, [&](int64_t i) { return get(x, x, rows.data[i / columns] * columns + i % columns); });
}

int sampleWeightedSum(List<DLTensor> xs, List<double> weights, double scale, const DLTensor* out) {
  if (xs.size != weights.size) return 7;
  return fill(out, [&](int64_t i) {
    double sum = 0;
    for (int64_t k = 0; k < xs.size; ++k) sum += weights.data[k] * get(&xs.data[k], out, i);
    return scale * sum;
  });
}

int sampleHalves(const DLTensor* x, int64_t rows, const DLTensor* first, const DLTensor* second) {
  fill(first, [&](int64_t i) { return get(x, x, i); });
  return fill(second, [&](int64_t i) { return get(x, x, rows * x->shape[1] + i); });
}

int sampleSwapSigns(const DLTensor* left, const DLTensor* right, List<bool> which) {
  if (which.data[0]) fill(left, [&](int64_t i) { return -get(left, left, i); });
  if (which.data[1]) fill(right, [&](int64_t i) { return -get(right, right, i); });
  return 0;
}

}  // extern "C"

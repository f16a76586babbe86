// ob::map: the loop over all elements, where elements may be halves.
//
//   ob::map(out, [=](float x, float y) { return x > 0 ? x : x * y; }, x, weight);
//
// A half or bfloat16 arrives as a float, and the result is rounded once.  Rows of halves are converted by the
// processor's instruction, which g++ does not use in loops by itself.
#ifndef OPBRIDGE_MAP_H
#define OPBRIDGE_MAP_H

#include <opbridge/halves.h>
#include <opbridge/parallel.h>
#include <opbridge/tensor.h>

namespace ob {
namespace [[gnu::visibility("hidden")]] detail {

// Elements converted at a time: all rows fit the first-level cache.
constexpr int64_t row_length = 512;

inline void widen(const bfloat16* from, float* to, size_t n) {
  for (size_t i = 0; i < n; ++i) to[i] = from[i];
}
inline void narrow(const float* from, bfloat16* to, size_t n) {
  for (size_t i = 0; i < n; ++i) to[i] = from[i];
}

// Some elements of a tensor, in the type of the computation.
template <class T>
class Row {
 public:
  const opmath<T>* read(const T* from, int64_t n) {
    if constexpr (is_short_float<T>) {
      widen(from, values_, static_cast<size_t>(n));
      return values_;
    } else {
      return from;
    }
  }

 private:
  opmath<T> values_[is_short_float<T> ? row_length : 1];
};

template <class T>
OB_ALWAYS_INLINE T element(const T* from, int64_t i) {
  return from[i];
}
// Reads an element as Tensor does.
OB_ALWAYS_INLINE bool element(const bool* from, int64_t i) { return reinterpret_cast<const uint8_t*>(from)[i] != 0; }

template <class T, class F, class... X>
OB_ALWAYS_INLINE void map_row(T* out, int64_t n, F f, const X*... x) {
  OB_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(f(element(x, i)...));
}

template <class T, class F, class... X>
void map_rows(T* out, int64_t begin, int64_t end, const F& f, const X*... x) {
  for (int64_t i = begin; i < end; i += row_length) {
    const int64_t n = end - i < row_length ? end - i : row_length;
    if constexpr (is_short_float<T>) {
      float results[row_length];
      map_row(results, n, f, Row<X>().read(x + i, n)...);
      narrow(results, out + i, static_cast<size_t>(n));
    } else {
      map_row(out + i, n, f, Row<X>().read(x + i, n)...);
    }
  }
}

}  // namespace detail

// out[i] = f(x[i]...) for every i, of tensors that are contiguous and have as many elements.
template <class T, class F, class... X>
void map(const Out<T>& out, const F& f, const In<X>&... x) {
  if (!((x.numel() == out.numel()) && ...)) fail("ob::map takes tensors with as many elements as the output has");
  parallel_for(out.numel(),
               [=](int64_t begin, int64_t end) { detail::map_rows(out.data(), begin, end, f, x.data()...); });
}

}  // namespace ob
#endif

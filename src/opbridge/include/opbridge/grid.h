// The loops of a formula: the shape that its tensors broadcast to, taken as rows.
//
//   const ob::Grid grid({-1}, ob::reads(x, weight), ob::writes(out));
//   grid.each_row([=](ob::Row& row) {
//     const T* x_ = row.read<T>(0);
//     ...
//   });
//
// A row spans the reduced axes; without reduced axes it is a piece of at most `Grid::tile` elements.  In a row, every
// tensor is an array: its memory if that is contiguous, and a copy if it is broadcast, strided or summed.
#ifndef OPBRIDGE_GRID_H
#define OPBRIDGE_GRID_H

#include <opbridge/grid_rows.h>

#if !defined(OB_PARTS_LINKED)
#include <opbridge/grid_parts.h>
#endif

namespace ob {

// Reductions of a row.  A NaN among the values is the result, as in PyTorch.
template <class F, class Map>
F row_sum(int64_t n, const Map& map) {
  return parallel_reduce(n, F(0), map, [](F a, F b) { return a + b; });
}

template <class F, class Map>
F row_max(int64_t n, const Map& map) {
  constexpr F lowest = -static_cast<F>(__builtin_inf());
  return parallel_reduce(n, lowest, map, [](F a, F b) { return a > b || a != a ? a : b; });
}

template <class F, class Map>
F row_min(int64_t n, const Map& map) {
  constexpr F highest = static_cast<F>(__builtin_inf());
  return parallel_reduce(n, highest, map, [](F a, F b) { return a < b || a != a ? a : b; });
}

// to[i] = map(0) + ... + map(i), added up in double.
template <class F, class Map>
void row_scan(int64_t n, F* to, const Map& map) {
  double total = 0;
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<F>(total += map(i));
}

// to[i] = map(i) + ... + map(n - 1)
template <class F, class Map>
void row_scan_back(int64_t n, F* to, const Map& map) {
  double total = 0;
  for (int64_t i = n - 1; i >= 0; --i) to[i] = static_cast<F>(total += map(i));
}

// The first place of a value that `row_max` or `row_min` gave.
template <class F, class Map>
int64_t row_find(int64_t n, F value, const Map& map) {
  for (int64_t i = 0; i < n; ++i) {
    const F at = map(i);
    if (at == value || (at != at && value != value)) return i;
  }
  return 0;
}

}  // namespace ob

#endif

// Matrices that the lanes of a warp hold together (WMMA): loads, products and stores of fragments.
//
// A lane's elements are those that mma.sync of PTX would give it: of each 8 by 8 elements two neighbours.
#ifndef OPBRIDGE_TWIN_MMA_H
#define OPBRIDGE_TWIN_MMA_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace nvcuda {
namespace wmma {

enum layout_t { mem_row_major, mem_col_major };
// Marks of a fragment's place in a product, and of the order of its elements in memory.
struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
namespace precision {
// A float of which a product reads ten bits of the fraction.
struct tf32;
}  // namespace precision
namespace experimental {
// Names alone: there are no fragments of them.
namespace precision {
struct u4;
struct s4;
struct b1;
}  // namespace precision
enum bmmaBitOp { bmmaBitOpXOR = 1, bmmaBitOpAND = 2 };
enum bmmaAccumulateOp { bmmaAccumulateOpPOPC = 1 };
}  // namespace experimental

namespace details {

constexpr unsigned kLanes = 32, kAll = ~0u;

template <class T>
struct StoredAs {
  using Type = T;
};
template <>
struct StoredAs<precision::tf32> {
  using Type = float;
};

template <class T>
constexpr bool is_product(int m, int n, int k) {
  if (std::is_same<T, double>::value) return m == 8 && n == 8 && k == 4;
  if (std::is_same<T, precision::tf32>::value) return m == 16 && n == 16 && k == 8;
  return k == 16 && ((m == 16 && n == 16) || (m == 32 && n == 8) || (m == 8 && n == 32));
}
template <class T>
constexpr bool kIsFactor =
    std::is_same<T, __half>::value || std::is_same<T, __nv_bfloat16>::value || std::is_same<T, signed char>::value ||
    std::is_same<T, unsigned char>::value || std::is_same<T, precision::tf32>::value || std::is_same<T, double>::value;
template <class T>
constexpr bool kIsSum = std::is_same<T, __half>::value || std::is_same<T, float>::value ||
                        std::is_same<T, int>::value || std::is_same<T, double>::value;

struct Place {
  int row, column;
};
// Returns the place of an element of a lane, in a matrix of so many rows.
OB_TWIN_INLINE constexpr Place place_in(int rows, int columns, unsigned lane, int element) {
  const int group = static_cast<int>(lane / 4), within = static_cast<int>(lane % 4);
  if (columns == 4) return {group, within};
  const int tile = element / 2, down = rows / 8;
  return {group + 8 * (tile % down), 2 * within + element % 2 + 8 * (tile / down)};
}

template <class Fragment>
OB_TWIN_INLINE Place place_of(unsigned lane, int element) {
  if constexpr (!Fragment::kByColumns) return place_in(Fragment::kRows, Fragment::kColumns, lane, element);
  const Place turned = place_in(Fragment::kColumns, Fragment::kRows, lane, element);
  return {turned.column, turned.row};
}

}  // namespace details

template <class Use, int m, int n, int k, class T, class Layout = void>
struct fragment {
  static_assert(std::is_same<Use, accumulator>::value ? details::kIsSum<T>
                                                      : details::kIsFactor<T> && details::is_product<T>(m, n, k),
                "fragments of this type or shape: not supported by the CUDA twin, which docs/cuda.md says more about");
  static constexpr int kRows = std::is_same<Use, matrix_b>::value ? k : m;
  static constexpr int kColumns = std::is_same<Use, matrix_a>::value ? k : n;
  static constexpr bool kByColumns = std::is_same<Use, matrix_b>::value;
  static constexpr int num_elements = kRows * kColumns / static_cast<int>(details::kLanes);
  static constexpr int num_storage_elements = num_elements;
  using element_type = T;
  using storage_element_type = typename details::StoredAs<T>::Type;

  storage_element_type x[num_elements];
};

namespace details {

// The input of a lane to a product; `lanes` are those that take part.
template <class A, class B, class C, class D>
struct Product {
  const A* a;
  const B* b;
  const C* c;
  D* d;
  bool saturates;
  unsigned lanes;
};

template <class Element, class T>
OB_TWIN_UNSEEN inline double number(T value) {
  if constexpr (std::is_same<Element, precision::tf32>::value) {
    return opbridge_twin::bits_as<float>(opbridge_twin::bits_as<unsigned>(value) & ~0x1fffu);
  } else if constexpr (std::is_arithmetic<T>::value) {
    return static_cast<double>(value);
  } else {
    return static_cast<double>(static_cast<float>(value));
  }
}

template <class T>
OB_TWIN_UNSEEN inline T rounded(double value, bool saturates) {
  if constexpr (std::is_same<T, int>::value) {
    constexpr double kMost = 2147483647.0;
    if (saturates) value = value > kMost ? kMost : value < -kMost - 1 ? -kMost - 1 : value;
    return static_cast<T>(static_cast<unsigned>(static_cast<int64_t>(value)));
  } else {
    return T(value);
  }
}

template <class A, class B, class C, class D>
OB_TWIN_UNSEEN unsigned multiply(void* const* brought, unsigned lanes) {
  using One = Product<A, B, C, D>;
  double a[A::kRows][A::kColumns], b[B::kRows][B::kColumns], sums[C::kRows][C::kColumns];
  OB_TWIN_FOR_LANES(lane, lanes) static_cast<One*>(brought[lane])->lanes = lanes;
  if (lanes != kAll) return ~lanes;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const One& own = *static_cast<One*>(brought[lane]);
    for (int i = 0; i < A::num_elements; ++i) {
      const Place at = place_of<A>(lane, i);
      a[at.row][at.column] = number<typename A::element_type>(own.a->x[i]);
    }
    for (int i = 0; i < B::num_elements; ++i) {
      const Place at = place_of<B>(lane, i);
      b[at.row][at.column] = number<typename B::element_type>(own.b->x[i]);
    }
    for (int i = 0; i < C::num_elements; ++i) {
      const Place at = place_of<C>(lane, i);
      sums[at.row][at.column] = number<typename C::element_type>(own.c->x[i]);
    }
  }
  for (int row = 0; row < C::kRows; ++row) {
    for (int inner = 0; inner < A::kColumns; ++inner) {
      for (int column = 0; column < C::kColumns; ++column) sums[row][column] += a[row][inner] * b[inner][column];
    }
  }
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const One& own = *static_cast<One*>(brought[lane]);
    for (int i = 0; i < D::num_elements; ++i) {
      const Place at = place_of<D>(lane, i);
      own.d->x[i] = rounded<typename D::element_type>(sums[at.row][at.column], own.saturates);
    }
  }
  return 0;
}

OB_TWIN_UNSEEN inline unsigned note_lanes(void* const* brought, unsigned lanes) {
  OB_TWIN_FOR_LANES(lane, lanes) * static_cast<unsigned*>(brought[lane]) = lanes;
  return ~lanes;
}

OB_TWIN_INLINE void require_all(unsigned lanes, const char* why) {
  if (lanes != kAll) ob_twin_trap(opbridge_twin::this_thread(), why);
}
OB_TWIN_INLINE void meet_all(const char* what, const char* why) {
  unsigned lanes = 0;
  opbridge_twin::meet(kAll, what, lanes, note_lanes);
  require_all(lanes, why);
}

// The programming guide wants 32 bytes of all; of bytes PTX wants no more than what a lane loads, as NVIDIA's own
// samples rely on.
template <class Fragment, class T>
OB_TWIN_INLINE void require_place(const T* memory, unsigned lead, const char* why) {
  constexpr size_t kAligned = sizeof(T) == 1 ? Fragment::num_elements : 32;
  const bool fits = reinterpret_cast<uintptr_t>(memory) % kAligned == 0 && lead * sizeof(T) % 16 == 0;
  if (!fits) ob_twin_trap(opbridge_twin::this_thread(), why);
}

// Calls `move` with each of the lane's elements and how far from the first it is in memory.
template <class Fragment, class Move>
OB_TWIN_INLINE void each_element(bool by_rows, unsigned lead, const Move& move) {
  const unsigned lane = static_cast<unsigned>(opbridge_twin::this_lane());
  for (int i = 0; i < Fragment::num_elements; ++i) {
    const Place at = place_of<Fragment>(lane, i);
    const int major = by_rows ? at.row : at.column, minor = by_rows ? at.column : at.row;
    move(i, static_cast<size_t>(major) * lead + static_cast<size_t>(minor));
  }
}

template <class Fragment, class T>
OB_TWIN_INLINE void load(Fragment& to, const T* from, unsigned lead, bool by_rows) {
  meet_all("load_matrix_sync", "load_matrix_sync: not all 32 lanes of the warp have come to it");
  require_place<Fragment>(
      from, lead, "load_matrix_sync: the address is to be a multiple of 32 bytes, and the distance of rows one of 16");
  each_element<Fragment>(by_rows, lead, [&](int i, size_t at) { to.x[i] = from[at]; });
}

}  // namespace details

template <class Use, int m, int n, int k, class T, class Layout>
OB_TWIN_INLINE void load_matrix_sync(fragment<Use, m, n, k, T, Layout>& to,
                                     const typename details::StoredAs<T>::Type* from, unsigned lead) {
  static_assert(!std::is_void<Layout>::value, "an accumulator is loaded with its layout as the last argument");
  details::load(to, from, lead, std::is_same<Layout, row_major>::value);
}
template <int m, int n, int k, class T>
OB_TWIN_INLINE void load_matrix_sync(fragment<accumulator, m, n, k, T>& to, const T* from, unsigned lead,
                                     layout_t layout) {
  details::load(to, from, lead, layout == mem_row_major);
}

template <int m, int n, int k, class T>
OB_TWIN_INLINE void store_matrix_sync(T* to, const fragment<accumulator, m, n, k, T>& from, unsigned lead,
                                      layout_t layout) {
  details::meet_all("store_matrix_sync", "store_matrix_sync: not all 32 lanes of the warp have come to it");
  details::require_place<fragment<accumulator, m, n, k, T>>(
      to, lead, "store_matrix_sync: the address is to be a multiple of 32 bytes, and the distance of rows one of 16");
  details::each_element<fragment<accumulator, m, n, k, T>>(layout == mem_row_major, lead,
                                                           [&](int i, size_t at) { to[at] = from.x[i]; });
}

template <class Use, int m, int n, int k, class T, class Layout, class Value>
OB_TWIN_INLINE void fill_fragment(fragment<Use, m, n, k, T, Layout>& to, const Value& value) {
  for (auto& element : to.x) element = static_cast<typename details::StoredAs<T>::Type>(value);
}

template <int m, int n, int k, class T, class LayoutA, class LayoutB, class From, class To>
OB_TWIN_INLINE void mma_sync(fragment<accumulator, m, n, k, To>& d, const fragment<matrix_a, m, n, k, T, LayoutA>& a,
                             const fragment<matrix_b, m, n, k, T, LayoutB>& b,
                             const fragment<accumulator, m, n, k, From>& c, bool saturates = false) {
  using A = fragment<matrix_a, m, n, k, T, LayoutA>;
  using B = fragment<matrix_b, m, n, k, T, LayoutB>;
  using C = fragment<accumulator, m, n, k, From>;
  using D = fragment<accumulator, m, n, k, To>;
  details::Product<A, B, C, D> part{&a, &b, &c, &d, saturates, 0};
  opbridge_twin::meet(details::kAll, "mma_sync", part, details::multiply<A, B, C, D>);
  details::require_all(part.lanes, "mma_sync: not all 32 lanes of the warp have come to it");
}

template <class D, class A, class B, class C>
OB_TWIN_INLINE void bmma_sync(D&, const A&, const B&, const C&, experimental::bmmaBitOp = experimental::bmmaBitOpXOR,
                              experimental::bmmaAccumulateOp = experimental::bmmaAccumulateOpPOPC) {
  ob_twin_trap(opbridge_twin::this_thread(), "bmma_sync: products of single bits are not supported by the CUDA twin");
}

// To the ten bits of a fraction that a product reads, halves away from zero.
OB_TWIN_INLINE float __float_to_tf32(float value) {
  if (value != value) return value;
  return opbridge_twin::bits_as<float>((opbridge_twin::bits_as<unsigned>(value) + 0x1000u) & ~0x1fffu);
}

}  // namespace wmma
}  // namespace nvcuda

using nvcuda::wmma::__float_to_tf32;

#endif

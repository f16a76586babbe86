// The arithmetic of cuBLAS and cuSOLVER on dense matrices, column by column, in plain loops that a compiler vectorizes.
//
// Reference: the algorithms and their names are those of Golub and Van Loan, Matrix Computations, 4th edition:
// LU with partial pivoting (3.4.1), substitution by rows (3.1), Householder QR and least squares by it (5.2.1, 5.3.2).
#ifndef OPBRIDGE_TWIN_LIBRARIES_DENSE_ALGEBRA_H
#define OPBRIDGE_TWIN_LIBRARIES_DENSE_ALGEBRA_H

#include <cublas_v2.h>
#include <stddef.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <type_traits>
#include <utility>
#include <vector>

namespace opbridge_twin::blas {

// The C++ number of an element: cuComplex and std::complex have one layout, and only the second has operators.
template <class T>
using Plain = std::conditional_t<std::is_same_v<std::remove_const_t<T>, cuComplex>, std::complex<float>,
                                 std::conditional_t<std::is_same_v<std::remove_const_t<T>, cuDoubleComplex>,
                                                    std::complex<double>, std::remove_const_t<T>>>;
template <class T>
Plain<T>* plain(T* p) {
  return reinterpret_cast<Plain<T>*>(p);
}
template <class T>
const Plain<T>* plain(const T* p) {
  return reinterpret_cast<const Plain<T>*>(p);
}

// Elements from the first to the last of a matrix, those between its columns included.
inline size_t span(int rows, int columns, int lead) {
  return rows <= 0 || columns <= 0 ? 0 : static_cast<size_t>(columns - 1) * lead + rows;
}
inline bool bad(int rows, int columns, int lead) { return rows < 0 || columns < 0 || lead < std::max(1, rows); }

template <class T>
T conjugate(T value) {
  return value;
}
template <class T>
std::complex<T> conjugate(std::complex<T> value) {
  return std::conj(value);
}

// A matrix of columns in a program's memory; the leading dimension is the distance between them.  It has no sizes:
// functions of BLAS take a part of what lies there, so each caller says how much.
template <class T>
struct Matrix {
  T* data;
  int lead;
  T& operator()(int row, int column) const { return data[row + static_cast<ptrdiff_t>(lead) * column]; }
};
template <class T>
Matrix<Plain<T>> matrix(T* data, int lead) {
  return {plain(data), lead};
}
template <class T>
Matrix<const Plain<T>> matrix(const T* data, int lead) {
  return {plain(data), lead};
}

// A copy with the columns next to each other: operands are read before results are written, which may overlap them.
template <class T>
struct Packed {
  Packed(int rows_, int columns_) : rows(rows_), columns(columns_), data(static_cast<size_t>(rows_) * columns_) {}
  T& operator()(int row, int column) { return data[row + static_cast<size_t>(rows) * column]; }
  const T& operator()(int row, int column) const { return data[row + static_cast<size_t>(rows) * column]; }
  int rows, columns;
  std::vector<T> data;
};

template <class T>
T applied(Matrix<const T> a, cublasOperation_t op, int row, int column) {
  if (op == CUBLAS_OP_N) return a(row, column);
  const T value = a(column, row);
  return op == CUBLAS_OP_C ? conjugate(value) : value;
}

template <class T>
Packed<T> packed(Matrix<const T> a, cublasOperation_t op, int rows, int columns) {
  Packed<T> made(rows, columns);
  for (int j = 0; j < columns; ++j) {
    for (int i = 0; i < rows; ++i) made(i, j) = applied(a, op, i, j);
  }
  return made;
}

// alpha a b + beta c, where c is not read if beta is 0.
template <class T, class Load, class Store>
void product(const Packed<T>& a, const Packed<T>& b, T alpha, T beta, Load load, Store store) {
  std::vector<T> column(static_cast<size_t>(a.rows));
  for (int j = 0; j < b.columns; ++j) {
    std::fill(column.begin(), column.end(), T(0));
    for (int l = 0; l < a.columns; ++l) {
      const T factor = b(l, j);
      const T* const from = a.data.data() + static_cast<size_t>(a.rows) * l;
      for (int i = 0; i < a.rows; ++i) column[i] += from[i] * factor;
    }
    for (int i = 0; i < a.rows; ++i) {
      const T scaled = alpha * column[i];
      store(i, j, beta == T(0) ? scaled : scaled + beta * load(i, j));
    }
  }
}

template <class T>
void product(const Packed<T>& a, const Packed<T>& b, T alpha, T beta, Matrix<T> c) {
  product(a, b, alpha, beta, [&](int i, int j) { return c(i, j); }, [&](int i, int j, T value) { c(i, j) = value; });
}

// The whole of a triangular matrix, with zeros and ones where they are not written.
template <class T>
Packed<T> triangle(Matrix<const T> a, cublasFillMode_t fill, cublasDiagType_t diagonal, int n) {
  Packed<T> made(n, n);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) {
      const bool inside = fill == CUBLAS_FILL_MODE_LOWER ? i >= j : i <= j;
      if (inside) made(i, j) = i == j && diagonal == CUBLAS_DIAG_UNIT ? T(1) : a(i, j);
    }
  }
  return made;
}

// Returns whether op(a) is lower.
inline bool is_lower(cublasFillMode_t fill, cublasOperation_t op) {
  return (fill == CUBLAS_FILL_MODE_LOWER) == (op == CUBLAS_OP_N);
}
template <class T>
Packed<T> triangle(Matrix<const T> a, cublasFillMode_t fill, cublasOperation_t op, cublasDiagType_t diagonal, int n) {
  const Packed<T> whole = triangle(a, fill, diagonal, n);
  return packed(Matrix<const T>{whole.data.data(), std::max(1, n)}, op, n, n);
}

// Solves t x = b in place.
template <class T, class Vector>
void solve(const Packed<T>& t, bool lower, Vector b) {
  for (int step = 0; step < t.rows; ++step) {
    const int i = lower ? step : t.rows - 1 - step;
    T rest = b(i);
    for (int j = lower ? 0 : i + 1; j < (lower ? i : t.rows); ++j) rest -= t(i, j) * b(j);
    b(i) = rest / t(i, i);
  }
}

// LU with the largest pivot of each column, rows counted from 1; without pivots where there is no place for them.
// Returns the number of the first pivot that is 0, and 0 where none is.
template <class T>
int factorize(Matrix<T> a, int m, int n, int* pivots) {
  int info = 0;
  for (int k = 0; k < std::min(m, n); ++k) {
    int best = k;
    for (int i = k + 1; pivots != nullptr && i < m; ++i) {
      if (std::abs(a(i, k)) > std::abs(a(best, k))) best = i;
    }
    if (pivots != nullptr) pivots[k] = best + 1;
    if (a(best, k) == T(0)) {
      if (info == 0) info = k + 1;
      continue;
    }
    for (int j = 0; best != k && j < n; ++j) std::swap(a(k, j), a(best, j));
    for (int i = k + 1; i < m; ++i) a(i, k) /= a(k, k);
    for (int j = k + 1; j < n; ++j) {
      for (int i = k + 1; i < m; ++i) a(i, j) -= a(i, k) * a(k, j);
    }
  }
  return info;
}

// Solves with what factorize left, one column.
template <class T>
void solve_factorized(Matrix<const T> lu, int n, const int* pivots, cublasOperation_t op, T* b) {
  const auto at = [b](int i) -> T& { return b[i]; };
  const Packed<T> lower = triangle(lu, CUBLAS_FILL_MODE_LOWER, CUBLAS_DIAG_UNIT, n);
  const Packed<T> upper = triangle(lu, CUBLAS_FILL_MODE_UPPER, CUBLAS_DIAG_NON_UNIT, n);
  const auto transposed = [&](const Packed<T>& one) { return packed(Matrix<const T>{one.data.data(), n}, op, n, n); };
  if (op == CUBLAS_OP_N) {
    for (int i = 0; pivots != nullptr && i < n; ++i) std::swap(b[i], b[pivots[i] - 1]);
    solve(lower, true, at);
    solve(upper, false, at);
  } else {
    solve(transposed(upper), true, at);
    solve(transposed(lower), false, at);
    for (int i = n - 1; pivots != nullptr && i >= 0; --i) std::swap(b[i], b[pivots[i] - 1]);
  }
}

// The least squares of a x = b by Householder's reflections; m >= n.  The sign of the new diagonal is opposite to the
// pivot's, so that v[0] is a sum and nothing cancels.  False where a has not its full rank.
template <class T>
bool least_squares(Matrix<T> a, int m, int n, Matrix<T> b, int columns) {
  for (int k = 0; k < n; ++k) {
    double size = 0;
    for (int i = k; i < m; ++i) size += std::norm(std::complex<double>(a(i, k)));
    size = std::sqrt(size);
    if (size == 0) return false;
    const T pivot = a(k, k);
    const T phase = std::abs(pivot) == 0 ? T(1) : pivot / T(std::abs(pivot));
    const T diagonal = -phase * T(size);
    std::vector<T> v(static_cast<size_t>(m - k));
    for (int i = k; i < m; ++i) v[i - k] = a(i, k);
    v[0] -= diagonal;
    double norm = 0;
    for (const T one : v) norm += std::norm(std::complex<double>(one));
    const auto reflect = [&](Matrix<T> c, int column) {
      T dot = 0;
      for (int i = k; i < m; ++i) dot += conjugate(v[i - k]) * c(i, column);
      const T factor = dot * T(2 / norm);
      for (int i = k; i < m; ++i) c(i, column) -= factor * v[i - k];
    };
    for (int j = k; j < n; ++j) reflect(a, j);
    for (int j = 0; j < columns; ++j) reflect(b, j);
  }
  const Packed<T> upper = triangle(Matrix<const T>{a.data, a.lead}, CUBLAS_FILL_MODE_UPPER, CUBLAS_DIAG_NON_UNIT, n);
  for (int j = 0; j < columns; ++j) solve(upper, false, [&](int i) -> T& { return b(i, j); });
  return true;
}

}  // namespace opbridge_twin::blas
#endif

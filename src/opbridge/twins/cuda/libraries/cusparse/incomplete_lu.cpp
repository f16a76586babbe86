// cuSPARSE's incomplete LU without fill-in: the rows of a matrix one after the other, in their own places.
//
// Reference: Saad, Iterative Methods for Sparse Linear Systems, 2nd edition, algorithm 10.4, ILU(0); as cuSPARSE,
// without pivoting.
#include <cusparse.h>

#include <complex>
#include <vector>

#include "library_call.h"

// The description of a matrix; here it is always general, with both triangles.
struct cusparseMatDescr {
  int base = 0;
};
// The row without a pivot that was found first, and as the program counts; -1 where there is none.
struct csrilu02Info {
  int zero_pivot = -1;
};

namespace {

using opbridge_twin::LibraryCall;

constexpr cusparseStatus_t kDone = CUSPARSE_STATUS_SUCCESS, kInvalid = CUSPARSE_STATUS_INVALID_VALUE,
                           kFailed = CUSPARSE_STATUS_EXECUTION_FAILED;

// A square matrix by rows, in a program's arrays.
struct Rows {
  int count, entries, base;
  const int* offsets;
  const int* columns;

  int begin(int row) const { return offsets[row] - base; }
  int end(int row) const { return offsets[row + 1] - base; }
  int column(int at) const { return columns[at] - base; }
  // Negative where it has none.
  int find(int row, int wanted) const {
    for (int at = begin(row); at < end(row); ++at) {
      if (column(at) == wanted) return at;
    }
    return -1;
  }
  bool is_inside() const {
    for (int row = 0; row < count; ++row) {
      if (begin(row) < 0 || end(row) > entries) return false;
      for (int at = begin(row); at < end(row); ++at) {
        if (column(at) < 0 || column(at) >= count) return false;
      }
    }
    return true;
  }
};

cusparseStatus_t rows_of(const LibraryCall& call, int count, int entries, cusparseMatDescr_t matrix, const int* offsets,
                         const int* columns, csrilu02Info_t state, Rows& rows) {
  if (count < 0 || entries < 0 || matrix == nullptr || state == nullptr) return kInvalid;
  rows = {count, entries, matrix->base, offsets, columns};
  if (!call.reads(offsets, static_cast<size_t>(count) + 1)) return kFailed;
  if (!call.reads(columns, static_cast<size_t>(entries))) return kFailed;
  return rows.is_inside() ? kDone : kInvalid;
}

void note_pivot(csrilu02Info& state, const Rows& rows, int row) {
  if (state.zero_pivot < 0) state.zero_pivot = row + rows.base;
}

cusparseStatus_t analyse(const LibraryCall& call, int count, int entries, cusparseMatDescr_t matrix, const int* offsets,
                         const int* columns, csrilu02Info_t state) {
  Rows rows;
  const cusparseStatus_t status = rows_of(call, count, entries, matrix, offsets, columns, state, rows);
  if (status != kDone) return status;
  state->zero_pivot = -1;
  for (int row = 0; row < count; ++row) {
    if (rows.find(row, row) < 0) note_pivot(*state, rows, row);
  }
  return kDone;
}

// Takes from a row what its factors and those above say, in the places that it has.
template <class Number>
void eliminate(const Rows& rows, Number* values, int row, const std::vector<int>& diagonals) {
  for (int at = rows.begin(row); at < rows.end(row); ++at) {
    const int above = rows.column(at);
    if (above >= row || diagonals[static_cast<size_t>(above)] < 0) continue;
    values[at] /= values[diagonals[static_cast<size_t>(above)]];
    for (int other = rows.begin(above); other < rows.end(above); ++other) {
      const int place = rows.column(other) > above ? rows.find(row, rows.column(other)) : -1;
      if (place >= 0) values[place] -= values[at] * values[other];
    }
  }
}

template <class Number>
cusparseStatus_t factor(const LibraryCall& call, int count, int entries, cusparseMatDescr_t matrix, Number* values,
                        const int* offsets, const int* columns, csrilu02Info_t state) {
  Rows rows;
  const cusparseStatus_t status = rows_of(call, count, entries, matrix, offsets, columns, state, rows);
  if (status != kDone) return status;
  if (!call.reads(values, static_cast<size_t>(entries)) || !call.writes(values, static_cast<size_t>(entries))) {
    return kFailed;
  }
  std::vector<int> diagonals;
  for (int row = 0; row < count; ++row) {
    eliminate(rows, values, row, diagonals);
    diagonals.push_back(rows.find(row, row));
    if (diagonals.back() >= 0 && values[diagonals.back()] == Number(0)) note_pivot(*state, rows, row);
  }
  return kDone;
}

template <class T>
cusparseStatus_t make(T** made) {
  if (made == nullptr) return kInvalid;
  *made = new T;
  return kDone;
}
cusparseStatus_t not_asked(cusparseMatDescr_t matrix) { return matrix == nullptr ? kInvalid : kDone; }

}  // namespace

cusparseStatus_t cusparseCreateMatDescr(cusparseMatDescr_t* matrix) { return make(matrix); }
cusparseStatus_t cusparseDestroyMatDescr(cusparseMatDescr_t matrix) {
  delete matrix;
  return kDone;
}
cusparseStatus_t cusparseSetMatType(cusparseMatDescr_t matrix, cusparseMatrixType_t type) {
  return type == CUSPARSE_MATRIX_TYPE_GENERAL ? not_asked(matrix) : CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED;
}
cusparseStatus_t cusparseSetMatIndexBase(cusparseMatDescr_t matrix, cusparseIndexBase_t base) {
  if (matrix == nullptr) return kInvalid;
  matrix->base = base;
  return kDone;
}
cusparseStatus_t cusparseSetMatFillMode(cusparseMatDescr_t matrix, cusparseFillMode_t) { return not_asked(matrix); }
cusparseStatus_t cusparseSetMatDiagType(cusparseMatDescr_t matrix, cusparseDiagType_t) { return not_asked(matrix); }

cusparseStatus_t cusparseCreateCsrilu02Info(csrilu02Info_t* state) { return make(state); }
cusparseStatus_t cusparseDestroyCsrilu02Info(csrilu02Info_t state) {
  delete state;
  return kDone;
}
cusparseStatus_t cusparseXcsrilu02_zeroPivot(cusparseHandle_t handle, csrilu02Info_t state, int* position) {
  if (handle == nullptr || state == nullptr || position == nullptr) return kInvalid;
  *position = state->zero_pivot;
  return state->zero_pivot < 0 ? kDone : CUSPARSE_STATUS_ZERO_PIVOT;
}

#define OB_TWIN_CSRILU02(letter, Element, Number)                                                                      \
  cusparseStatus_t cusparse##letter##csrilu02_bufferSize(cusparseHandle_t handle, int, int, cusparseMatDescr_t,        \
                                                         Element*, const int*, const int*, csrilu02Info_t state,       \
                                                         int* bytes) {                                                 \
    if (handle == nullptr || state == nullptr || bytes == nullptr) return kInvalid;                                    \
    *bytes = 0;                                                                                                        \
    return kDone;                                                                                                      \
  }                                                                                                                    \
  cusparseStatus_t cusparse##letter##csrilu02_analysis(                                                                \
      cusparseHandle_t handle, int rows, int count, cusparseMatDescr_t matrix, const Element*, const int* offsets,     \
      const int* columns, csrilu02Info_t state, cusparseSolvePolicy_t, void*) {                                        \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    if (handle == nullptr) return CUSPARSE_STATUS_NOT_INITIALIZED;                                                     \
    return analyse(call, rows, count, matrix, offsets, columns, state);                                                \
  }                                                                                                                    \
  cusparseStatus_t cusparse##letter##csrilu02(cusparseHandle_t handle, int rows, int count, cusparseMatDescr_t matrix, \
                                              Element* values, const int* offsets, const int* columns,                 \
                                              csrilu02Info_t state, cusparseSolvePolicy_t, void*) {                    \
    OB_TWIN_LIBRARY_CALL;                                                                                              \
    if (handle == nullptr) return CUSPARSE_STATUS_NOT_INITIALIZED;                                                     \
    return factor(call, rows, count, matrix, reinterpret_cast<Number*>(values), offsets, columns, state);              \
  }
OB_TWIN_CSRILU02(S, float, float)
OB_TWIN_CSRILU02(D, double, double)
OB_TWIN_CSRILU02(C, cuComplex, std::complex<float>)
OB_TWIN_CSRILU02(Z, cuDoubleComplex, std::complex<double>)
#undef OB_TWIN_CSRILU02

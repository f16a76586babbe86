// cuSPARSE's products and triangular systems: matrices are lists of entries, whatever their format, and numbers are
// complex doubles.
#include <utility>
#include <vector>

#include "descriptors.h"
#include "library_call.h"

namespace {

using opbridge_twin::LibraryCall;
using namespace opbridge_twin::sparse;
using Number = std::complex<double>;

Number number_at(const void* from, cudaDataType type, int64_t at) {
  if (type == CUDA_C_32F) return static_cast<const std::complex<float>*>(from)[at];
  if (type == CUDA_C_64F) return static_cast<const std::complex<double>*>(from)[at];
  return opbridge_twin::blas::load(from, type, at);
}
void put(void* to, cudaDataType type, int64_t at, Number value) {
  if (type == CUDA_C_32F) {
    static_cast<std::complex<float>*>(to)[at] = std::complex<float>(value);
  } else if (type == CUDA_C_64F) {
    static_cast<std::complex<double>*>(to)[at] = value;
  } else {
    opbridge_twin::blas::store(to, type, at, value.real());
  }
}
size_t index_bytes(cusparseIndexType_t type) { return type == CUSPARSE_INDEX_64I ? 8 : 4; }
int64_t index_at(const void* from, cusparseIndexType_t type, int64_t at) {
  return type == CUSPARSE_INDEX_64I ? static_cast<const int64_t*>(from)[at] : static_cast<const int32_t*>(from)[at];
}

// One number of a matrix; a list of these is the one format that all functions work on.
struct Entry {
  int64_t row, column;
  Number value;
};

// Returns the entries of op(matrix) in the order of the program's arrays; none if an index is outside of the matrix.
bool entries_of(const cusparseSpMatDescr& a, cusparseOperation_t op, std::vector<Entry>& entries) {
  const bool compressed = a.format != Format::coo;
  const int64_t lines = a.format == Format::csc ? a.columns : a.rows;
  entries.reserve(static_cast<size_t>(a.count));
  const auto add = [&](int64_t major, int64_t at) {
    const int64_t minor = index_at(a.minor, a.minor_type, at) - a.base;
    Entry one{major, minor, number_at(a.values, a.type, at)};
    if (a.format == Format::csc) std::swap(one.row, one.column);
    const bool inside = one.row >= 0 && one.row < a.rows && one.column >= 0 && one.column < a.columns;
    if (op != CUSPARSE_OPERATION_NON_TRANSPOSE) std::swap(one.row, one.column);
    if (op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE) one.value = std::conj(one.value);
    entries.push_back(one);
    return inside;
  };
  if (!compressed) {
    for (int64_t i = 0; i < a.count; ++i) {
      if (!add(index_at(a.major, a.major_type, i) - a.base, i)) return false;
    }
    return true;
  }
  for (int64_t line = 0; line < lines; ++line) {
    const int64_t end = index_at(a.major, a.major_type, line + 1) - a.base;
    int64_t at = index_at(a.major, a.major_type, line) - a.base;
    if (at < 0 || end > a.count) return false;
    for (; at < end; ++at) {
      if (!add(line, at)) return false;
    }
  }
  return true;
}

bool is_there(const LibraryCall& call, const cusparseSpMatDescr& a) {
  const int64_t lines = a.format == Format::csc ? a.columns : a.rows;
  const size_t majors = static_cast<size_t>(a.format == Format::coo ? a.count : lines + 1);
  const size_t count = static_cast<size_t>(a.count);
  return call.access(a.major, majors * index_bytes(a.major_type), 0) &&
         call.access(a.minor, count * index_bytes(a.minor_type), 0) &&
         call.access(a.values, count * width_of(a.type), 0);
}
bool is_there(const LibraryCall& call, const cusparseDnVecDescr& x, int writes) {
  return call.access(x.values, static_cast<size_t>(x.size) * width_of(x.type), writes);
}
bool is_there(const LibraryCall& call, const cusparseDnMatDescr& b, int writes) {
  const int64_t lines = b.order == CUSPARSE_ORDER_ROW ? b.rows : b.columns;
  const int64_t length = b.order == CUSPARSE_ORDER_ROW ? b.columns : b.rows;
  const int64_t span = lines == 0 ? 0 : (lines - 1) * b.lead + length;
  return call.access(b.values, static_cast<size_t>(span) * width_of(b.type), writes);
}
int64_t place(const cusparseDnMatDescr& b, int64_t row, int64_t column) {
  return b.order == CUSPARSE_ORDER_ROW ? row * b.lead + column : column * b.lead + row;
}

// A vector is a matrix of one column.
cusparseDnMatDescr as_matrix(const cusparseDnVecDescr& x) {
  return {x.size, 1, x.size, x.values, x.type, CUSPARSE_ORDER_COL};
}

bool scalars(const LibraryCall& call, cusparseHandle_t handle, cudaDataType type, const void* alpha, const void* beta) {
  if (handle->mode == CUSPARSE_POINTER_MODE_HOST) return true;
  return call.access(alpha, width_of(type), 0) && call.access(beta, width_of(type), 0);
}

cusparseStatus_t multiply(const LibraryCall& call, cusparseHandle_t handle, cusparseOperation_t op_a,
                          cusparseOperation_t op_b, const void* alpha_at, const cusparseSpMatDescr& a,
                          const cusparseDnMatDescr& b, const void* beta_at, const cusparseDnMatDescr& c,
                          cudaDataType compute) {
  if (width_of(compute) == 0) return kNot;
  const bool turned_a = op_a != CUSPARSE_OPERATION_NON_TRANSPOSE, turned_b = op_b != CUSPARSE_OPERATION_NON_TRANSPOSE;
  const bool fits = (turned_a ? a.columns : a.rows) == c.rows && (turned_b ? b.rows : b.columns) == c.columns &&
                    (turned_a ? a.rows : a.columns) == (turned_b ? b.columns : b.rows);
  if (!fits || alpha_at == nullptr || beta_at == nullptr) return kInvalid;
  if (!scalars(call, handle, compute, alpha_at, beta_at)) return kFailed;
  const Number alpha = number_at(alpha_at, compute, 0), beta = number_at(beta_at, compute, 0);
  const bool reads_c = beta != Number(0);
  if (!is_there(call, a) || !is_there(call, b, 0) || (reads_c && !is_there(call, c, 0)) || !is_there(call, c, 1)) {
    return kFailed;
  }
  std::vector<Entry> entries;
  if (!entries_of(a, op_a, entries)) return kInvalid;
  for (int64_t column = 0; column < c.columns; ++column) {
    std::vector<Number> sums(static_cast<size_t>(c.rows));
    for (const Entry& one : entries) {
      const int64_t at = turned_b ? place(b, column, one.column) : place(b, one.column, column);
      Number factor = number_at(b.values, b.type, at);
      if (op_b == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE) factor = std::conj(factor);
      sums[static_cast<size_t>(one.row)] += one.value * factor;
    }
    for (int64_t row = 0; row < c.rows; ++row) {
      Number value = alpha * sums[static_cast<size_t>(row)];
      if (reads_c) value += beta * number_at(c.values, c.type, place(c, row, column));
      put(c.values, c.type, place(c, row, column), value);
    }
  }
  return kDone;
}

// Row after row, from the side where only one unknown is left.
cusparseStatus_t solve(const LibraryCall& call, cusparseOperation_t op, Number alpha, const cusparseSpMatDescr& a,
                       const cusparseDnVecDescr& x, const cusparseDnVecDescr& y) {
  if (a.rows != a.columns || x.size != a.rows || y.size != a.rows) return kInvalid;
  if (!is_there(call, a) || !is_there(call, x, 0) || !is_there(call, y, 1)) return kFailed;
  std::vector<Entry> entries;
  if (!entries_of(a, op, entries)) return kInvalid;
  const bool lower = (a.fill == CUSPARSE_FILL_MODE_LOWER) == (op == CUSPARSE_OPERATION_NON_TRANSPOSE);
  const size_t n = static_cast<size_t>(a.rows);
  std::vector<std::vector<Entry>> rows(n);
  for (const Entry& one : entries) {
    if (lower ? one.column <= one.row : one.column >= one.row) rows[static_cast<size_t>(one.row)].push_back(one);
  }
  std::vector<Number> solved(n);
  for (size_t step = 0; step < n; ++step) {
    const size_t row = lower ? step : n - 1 - step;
    Number rest = alpha * number_at(x.values, x.type, static_cast<int64_t>(row)), pivot = 0;
    for (const Entry& one : rows[row]) {
      if (one.column == one.row) {
        pivot += one.value;
      } else {
        rest -= one.value * solved[static_cast<size_t>(one.column)];
      }
    }
    solved[row] = a.diagonal == CUSPARSE_DIAG_TYPE_UNIT ? rest : rest / pivot;
  }
  for (size_t i = 0; i < n; ++i) put(y.values, y.type, static_cast<int64_t>(i), solved[i]);
  return kDone;
}

cusparseStatus_t no_buffer(const void* first, const void* second, size_t* bytes) {
  if (first == nullptr || second == nullptr || bytes == nullptr) return kInvalid;
  *bytes = 0;
  return kDone;
}
cusparseStatus_t nothing_to_do(const void* first, const void* second) {
  return first == nullptr || second == nullptr ? kInvalid : kDone;
}

}  // namespace

cusparseStatus_t cusparseSpMV_bufferSize(cusparseHandle_t handle, cusparseOperation_t, const void*,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t, const void*,
                                         cusparseDnVecDescr_t, cudaDataType, cusparseSpMVAlg_t, size_t* bytes) {
  return no_buffer(handle, a, bytes);
}
cusparseStatus_t cusparseSpMV_preprocess(cusparseHandle_t handle, cusparseOperation_t, const void*,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t, const void*,
                                         cusparseDnVecDescr_t, cudaDataType, cusparseSpMVAlg_t, void*) {
  return nothing_to_do(handle, a);
}
cusparseStatus_t cusparseSpMV(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                              cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, const void* beta,
                              cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpMVAlg_t, void*) {
  OB_TWIN_LIBRARY_CALL;
  if (handle == nullptr) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (a == nullptr || x == nullptr || y == nullptr) return kInvalid;
  return multiply(call, handle, op, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, *a, as_matrix(*x), beta, as_matrix(*y),
                  compute);
}

cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t, const void*,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t, const void*,
                                         cusparseDnMatDescr_t, cudaDataType, cusparseSpMMAlg_t, size_t* bytes) {
  return no_buffer(handle, a, bytes);
}
cusparseStatus_t cusparseSpMM_preprocess(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t, const void*,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t, const void*,
                                         cusparseDnMatDescr_t, cudaDataType, cusparseSpMMAlg_t, void*) {
  return nothing_to_do(handle, a);
}
cusparseStatus_t cusparseSpMM(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                              const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                              const void* beta, cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpMMAlg_t,
                              void*) {
  OB_TWIN_LIBRARY_CALL;
  if (handle == nullptr) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (a == nullptr || b == nullptr || c == nullptr) return kInvalid;
  return multiply(call, handle, op_a, op_b, alpha, *a, *b, beta, *c, compute);
}

cusparseStatus_t cusparseSpSV_createDescr(cusparseSpSVDescr_t* state) {
  if (state == nullptr) return kInvalid;
  *state = new cusparseSpSVDescr;
  return kDone;
}
cusparseStatus_t cusparseSpSV_destroyDescr(cusparseSpSVDescr_t state) {
  delete state;
  return kDone;
}
cusparseStatus_t cusparseSpSV_bufferSize(cusparseHandle_t handle, cusparseOperation_t, const void*,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t, cusparseDnVecDescr_t,
                                         cudaDataType, cusparseSpSVAlg_t, cusparseSpSVDescr_t, size_t* bytes) {
  return no_buffer(handle, a, bytes);
}
cusparseStatus_t cusparseSpSV_analysis(cusparseHandle_t handle, cusparseOperation_t, const void*,
                                       cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t, cusparseDnVecDescr_t,
                                       cudaDataType, cusparseSpSVAlg_t, cusparseSpSVDescr_t, void*) {
  return nothing_to_do(handle, a);
}
cusparseStatus_t cusparseSpSV_solve(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                                    cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, cusparseDnVecDescr_t y,
                                    cudaDataType compute, cusparseSpSVAlg_t, cusparseSpSVDescr_t) {
  OB_TWIN_LIBRARY_CALL;
  if (handle == nullptr) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (a == nullptr || x == nullptr || y == nullptr || alpha == nullptr) return kInvalid;
  if (!scalars(call, handle, compute, alpha, alpha)) return kFailed;
  return solve(call, op, number_at(alpha, compute, 0), *a, *x, *y);
}

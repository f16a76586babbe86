// cuSPARSE's handles, and descriptors of matrices and vectors.
#include "descriptors.h"

namespace {

using namespace opbridge_twin::sparse;

template <class Described>
cusparseStatus_t describe(Described** made, bool is_right, const Described& described) {
  if (made == nullptr || !is_right) return kInvalid;
  if (width_of(described.type) == 0) return kNot;
  *made = new Described(described);
  return kDone;
}

// What a program may ask about a status.
struct Name {
  cusparseStatus_t status;
  const char* name;
  const char* text;
};
constexpr Name kNames[] = {
    {CUSPARSE_STATUS_SUCCESS, "CUSPARSE_STATUS_SUCCESS", "success"},
    {CUSPARSE_STATUS_NOT_INITIALIZED, "CUSPARSE_STATUS_NOT_INITIALIZED", "initialization error"},
    {CUSPARSE_STATUS_INVALID_VALUE, "CUSPARSE_STATUS_INVALID_VALUE", "invalid value"},
    {CUSPARSE_STATUS_EXECUTION_FAILED, "CUSPARSE_STATUS_EXECUTION_FAILED", "kernel launch failure"},
    {CUSPARSE_STATUS_NOT_SUPPORTED, "CUSPARSE_STATUS_NOT_SUPPORTED", "operation not supported"},
};
const Name* find(cusparseStatus_t status) {
  for (const Name& one : kNames) {
    if (one.status == status) return &one;
  }
  return nullptr;
}

}  // namespace

cusparseStatus_t cusparseCreate(cusparseHandle_t* handle) {
  if (handle == nullptr) return kInvalid;
  *handle = new cusparseContext;
  return kDone;
}
cusparseStatus_t cusparseDestroy(cusparseHandle_t handle) {
  delete handle;
  return kDone;
}
cusparseStatus_t cusparseGetVersion(cusparseHandle_t, int* version) {
  if (version == nullptr) return kInvalid;
  *version = CUSPARSE_VERSION;
  return kDone;
}
cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t) {
  return handle == nullptr ? CUSPARSE_STATUS_NOT_INITIALIZED : kDone;
}
cusparseStatus_t cusparseSetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t mode) {
  if (handle == nullptr) return CUSPARSE_STATUS_NOT_INITIALIZED;
  handle->mode = mode;
  return kDone;
}
const char* cusparseGetErrorName(cusparseStatus_t status) {
  const Name* const found = find(status);
  return found == nullptr ? "unrecognized error code" : found->name;
}
const char* cusparseGetErrorString(cusparseStatus_t status) {
  const Name* const found = find(status);
  return found == nullptr ? "unrecognized error code" : found->text;
}

cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t* matrix, int64_t rows, int64_t columns, int64_t count,
                                   void* row_offsets, void* column_indices, void* values,
                                   cusparseIndexType_t offsets_type, cusparseIndexType_t indices_type,
                                   cusparseIndexBase_t base, cudaDataType type) {
  return describe(
      matrix, rows >= 0 && columns >= 0 && count >= 0,
      {Format::csr, rows, columns, count, row_offsets, column_indices, values, offsets_type, indices_type, base, type});
}
cusparseStatus_t cusparseCreateCsc(cusparseSpMatDescr_t* matrix, int64_t rows, int64_t columns, int64_t count,
                                   void* column_offsets, void* row_indices, void* values,
                                   cusparseIndexType_t offsets_type, cusparseIndexType_t indices_type,
                                   cusparseIndexBase_t base, cudaDataType type) {
  return describe(
      matrix, rows >= 0 && columns >= 0 && count >= 0,
      {Format::csc, rows, columns, count, column_offsets, row_indices, values, offsets_type, indices_type, base, type});
}
cusparseStatus_t cusparseCreateCoo(cusparseSpMatDescr_t* matrix, int64_t rows, int64_t columns, int64_t count,
                                   void* row_indices, void* column_indices, void* values,
                                   cusparseIndexType_t indices_type, cusparseIndexBase_t base, cudaDataType type) {
  return describe(
      matrix, rows >= 0 && columns >= 0 && count >= 0,
      {Format::coo, rows, columns, count, row_indices, column_indices, values, indices_type, indices_type, base, type});
}
cusparseStatus_t cusparseDestroySpMat(cusparseConstSpMatDescr_t matrix) {
  delete matrix;
  return kDone;
}
cusparseStatus_t cusparseSpMatGetSize(cusparseConstSpMatDescr_t matrix, int64_t* rows, int64_t* columns,
                                      int64_t* count) {
  if (matrix == nullptr || rows == nullptr || columns == nullptr || count == nullptr) return kInvalid;
  *rows = matrix->rows;
  *columns = matrix->columns;
  *count = matrix->count;
  return kDone;
}
cusparseStatus_t cusparseSpMatSetAttribute(cusparseSpMatDescr_t matrix, cusparseSpMatAttribute_t attribute, void* value,
                                           size_t bytes) {
  if (matrix == nullptr || value == nullptr || bytes != sizeof(int)) return kInvalid;
  if (attribute == CUSPARSE_SPMAT_FILL_MODE) {
    matrix->fill = *static_cast<cusparseFillMode_t*>(value);
  } else {
    matrix->diagonal = *static_cast<cusparseDiagType_t*>(value);
  }
  return kDone;
}
cusparseStatus_t cusparseCreateDnVec(cusparseDnVecDescr_t* vector, int64_t size, void* values, cudaDataType type) {
  return describe(vector, size >= 0, {size, values, type});
}
cusparseStatus_t cusparseDestroyDnVec(cusparseConstDnVecDescr_t vector) {
  delete vector;
  return kDone;
}
cusparseStatus_t cusparseDnVecSetValues(cusparseDnVecDescr_t vector, void* values) {
  if (vector == nullptr) return kInvalid;
  vector->values = values;
  return kDone;
}
cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t* matrix, int64_t rows, int64_t columns, int64_t lead,
                                     void* values, cudaDataType type, cusparseOrder_t order) {
  const int64_t least = order == CUSPARSE_ORDER_ROW ? columns : rows;
  return describe(matrix, rows >= 0 && columns >= 0 && lead >= least, {rows, columns, lead, values, type, order});
}
cusparseStatus_t cusparseDestroyDnMat(cusparseConstDnMatDescr_t matrix) {
  delete matrix;
  return kDone;
}
cusparseStatus_t cusparseDnMatSetValues(cusparseDnMatDescr_t matrix, void* values) {
  if (matrix == nullptr) return kInvalid;
  matrix->values = values;
  return kDone;
}

// What the handles and descriptors of cuSPARSE hold, and the numbers in a program's arrays.
#ifndef OPBRIDGE_TWIN_LIBRARIES_CUSPARSE_DESCRIPTORS_H
#define OPBRIDGE_TWIN_LIBRARIES_CUSPARSE_DESCRIPTORS_H

#include <cusparse.h>

#include <complex>

#include "elements.h"

// The mode says where alpha and beta are.
struct cusparseContext {
  cusparsePointerMode_t mode = CUSPARSE_POINTER_MODE_HOST;
};

// Compressed by rows or by columns, or with an index for each.
enum class Format { csr, csc, coo };

// Refers to arrays of the program: `major` holds offsets or, in a list of coordinates, the rows.
struct cusparseSpMatDescr {
  Format format;
  int64_t rows, columns, count;
  const void* major;
  const void* minor;
  const void* values;
  cusparseIndexType_t major_type, minor_type;
  int64_t base;
  cudaDataType type;
  cusparseFillMode_t fill = CUSPARSE_FILL_MODE_LOWER;
  cusparseDiagType_t diagonal = CUSPARSE_DIAG_TYPE_NON_UNIT;
};
// Refers to an array of the program.
struct cusparseDnVecDescr {
  int64_t size;
  void* values;
  cudaDataType type;
};
// The same of rows and columns; the order says which of them lie next to each other.
struct cusparseDnMatDescr {
  int64_t rows, columns, lead;
  void* values;
  cudaDataType type;
  cusparseOrder_t order;
};
// What is found out of a matrix before it is solved with, which here is nothing.
struct cusparseSpSVDescr {};

namespace opbridge_twin::sparse {

constexpr cusparseStatus_t kDone = CUSPARSE_STATUS_SUCCESS, kInvalid = CUSPARSE_STATUS_INVALID_VALUE,
                           kFailed = CUSPARSE_STATUS_EXECUTION_FAILED, kNot = CUSPARSE_STATUS_NOT_SUPPORTED;

// 0 for a type that is not there.
inline size_t width_of(cudaDataType type) {
  return type == CUDA_C_32F ? 8 : type == CUDA_C_64F ? 16 : blas::bytes_of(type);
}

}  // namespace opbridge_twin::sparse
#endif

// Those functions of cuBLAS whose elements' types are arguments, and those on halves.
#include "arguments.h"
#include "elements.h"

namespace {

using namespace opbridge_twin::blas;
using opbridge_twin::LibraryCall;

// The type and leading dimension of a matrix, which are numbers here and no types of C++.
struct Argument {
  cudaDataType type;
  int lead;
};

// A product whose three matrices may differ in type: they are converted to the type in which it is computed.
struct Product {
  cublasOperation_t op_a, op_b;
  int m, n, k;
  Argument a, b, c;
  cublasComputeType_t compute;
  double alpha, beta;

  bool is_bad() const {
    const int rows_a = op_a == CUBLAS_OP_N ? m : k, rows_b = op_b == CUBLAS_OP_N ? k : n;
    return m < 0 || n < 0 || k < 0 || a.lead < (rows_a > 1 ? rows_a : 1) || b.lead < (rows_b > 1 ? rows_b : 1) ||
           c.lead < (m > 1 ? m : 1);
  }

  template <class T>
  static Packed<T> filled(const void* from, Argument how, cublasOperation_t op, int rows, int columns) {
    Packed<T> made(rows, columns);
    for (int j = 0; j < columns; ++j) {
      for (int i = 0; i < rows; ++i) {
        const ptrdiff_t at =
            op == CUBLAS_OP_N ? i + static_cast<ptrdiff_t>(how.lead) * j : j + static_cast<ptrdiff_t>(how.lead) * i;
        made(i, j) = static_cast<T>(load(from, how.type, at));
      }
    }
    return made;
  }

  template <class T>
  void run_in(const void* x, const void* y, void* z) const {
    product(
        filled<T>(x, a, op_a, m, k), filled<T>(y, b, op_b, k, n), static_cast<T>(alpha), static_cast<T>(beta),
        [&](int i, int j) { return static_cast<T>(load(z, c.type, i + static_cast<ptrdiff_t>(c.lead) * j)); },
        [&](int i, int j, T value) { store(z, c.type, i + static_cast<ptrdiff_t>(c.lead) * j, value); });
  }

  cublasStatus_t run(const LibraryCall& call, const void* x, const void* y, void* z) const {
    const bool n_a = op_a == CUBLAS_OP_N, n_b = op_b == CUBLAS_OP_N;
    const size_t bytes_c = span(m, n, c.lead) * bytes_of(c.type);
    const bool there = call.access(x, span(n_a ? m : k, n_a ? k : m, a.lead) * bytes_of(a.type), 0) &&
                       call.access(y, span(n_b ? k : n, n_b ? n : k, b.lead) * bytes_of(b.type), 0) &&
                       (beta == 0 || call.access(z, bytes_c, 0)) && call.access(z, bytes_c, 1);
    if (!there) return kFailed;
    // A double holds each sum of products of whole numbers.
    const bool is_wide = compute == CUBLAS_COMPUTE_64F || compute == CUBLAS_COMPUTE_64F_PEDANTIC ||
                         compute == CUBLAS_COMPUTE_32I || compute == CUBLAS_COMPUTE_32I_PEDANTIC;
    is_wide ? run_in<double>(x, y, z) : run_in<float>(x, y, z);
    return kDone;
  }
};

// Says why not, or `kDone` with the product.
cublasStatus_t begin(cublasHandle_t handle, const LibraryCall& call, const void* alpha, const void* beta,
                     Product* one) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (alpha == nullptr || beta == nullptr || one->is_bad()) return kInvalid;
  for (const Argument& argument : {one->a, one->b, one->c}) {
    if (bytes_of(argument.type) == 0) return kNot;
  }
  if (one->a.type != one->b.type) return kNot;
  const cudaDataType type = type_of_scalars(one->compute);
  for (const void* scalar : {alpha, beta}) {
    const bool there = handle->mode == CUBLAS_POINTER_MODE_HOST || call.access(scalar, bytes_of(type), 0);
    if (!there) return kFailed;
  }
  one->alpha = load(alpha, type, 0);
  one->beta = load(beta, type, 0);
  return kDone;
}

// What lies apart by a stride, or where an array of pointers says.
template <class Next>
cublasStatus_t each(const LibraryCall& call, const Product& one, int count, Next next) {
  if (count < 0) return kInvalid;
  cublasStatus_t status = kDone;
  for (int i = 0; i < count && status == kDone; ++i) {
    const auto [a, b, c] = next(i);
    status = one.run(call, a, b, c);
  }
  return status;
}

// Where the operands of one product lie.
struct Operands {
  const void* a;
  const void* b;
  void* c;
};

// A vector of any type; with a negative step it begins at its other end, as in BLAS.
struct Elements {
  const void* data;
  cudaDataType type;
  int n, step;
  ptrdiff_t at(int i) const { return static_cast<ptrdiff_t>(step > 0 ? i : i - (n - 1)) * step; }
  double operator()(int i) const { return load(data, type, at(i)); }
  bool is_there(const LibraryCall& call, int writes = 0) const {
    return call.access(data, n <= 0 ? 0 : (static_cast<size_t>(n - 1) * std::abs(step) + 1) * bytes_of(type), writes);
  }
};

}  // namespace

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                            int k, const void* alpha, const void* a, cudaDataType a_type, int lda, const void* b,
                            cudaDataType b_type, int ldb, const void* beta, void* c, cudaDataType c_type, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t) {
  OB_TWIN_LIBRARY_CALL;
  Product one{transa, transb, m, n, k, {a_type, lda}, {b_type, ldb}, {c_type, ldc}, compute, 0, 0};
  const cublasStatus_t status = begin(handle, call, alpha, beta, &one);
  return status == kDone ? one.run(call, a, b, c) : status;
}

cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
                                   int n, int k, const void* alpha, const void* const a[], cudaDataType a_type, int lda,
                                   const void* const b[], cudaDataType b_type, int ldb, const void* beta,
                                   void* const c[], cudaDataType c_type, int ldc, int count,
                                   cublasComputeType_t compute, cublasGemmAlgo_t) {
  OB_TWIN_LIBRARY_CALL;
  Product one{transa, transb, m, n, k, {a_type, lda}, {b_type, ldb}, {c_type, ldc}, compute, 0, 0};
  const cublasStatus_t status = begin(handle, call, alpha, beta, &one);
  if (status != kDone) return status;
  if (!call.reads(a, count) || !call.reads(b, count) || !call.reads(c, count)) return kFailed;
  return each(call, one, count, [&](int i) { return Operands{a[i], b[i], c[i]}; });
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                          int m, int n, int k, const void* alpha, const void* a, cudaDataType a_type,
                                          int lda, long long stridea, const void* b, cudaDataType b_type, int ldb,
                                          long long strideb, const void* beta, void* c, cudaDataType c_type, int ldc,
                                          long long stridec, int count, cublasComputeType_t compute, cublasGemmAlgo_t) {
  OB_TWIN_LIBRARY_CALL;
  Product one{transa, transb, m, n, k, {a_type, lda}, {b_type, ldb}, {c_type, ldc}, compute, 0, 0};
  const cublasStatus_t status = begin(handle, call, alpha, beta, &one);
  if (status != kDone) return status;
  const auto apart = [](const void* first, long long elements, cudaDataType type, int i) {
    return static_cast<const char*>(first) + elements * i * static_cast<long long>(bytes_of(type));
  };
  return each(call, one, count, [&](int i) {
    return Operands{apart(a, stridea, a_type, i), apart(b, strideb, b_type, i),
                    const_cast<char*>(apart(c, stridec, c_type, i))};
  });
}

cublasStatus_t cublasHgemm(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                           int k, const __half* alpha, const __half* a, int lda, const __half* b, int ldb,
                           const __half* beta, __half* c, int ldc) {
  return cublasGemmEx(handle, transa, transb, m, n, k, alpha, a, CUDA_R_16F, lda, b, CUDA_R_16F, ldb, beta, c,
                      CUDA_R_16F, ldc, CUBLAS_COMPUTE_16F, CUBLAS_GEMM_DEFAULT);
}
cublasStatus_t cublasHgemmBatched(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
                                  int n, int k, const __half* alpha, const __half* const a[], int lda,
                                  const __half* const b[], int ldb, const __half* beta, __half* const c[], int ldc,
                                  int count) {
  return cublasGemmBatchedEx(handle, transa, transb, m, n, k, alpha, reinterpret_cast<const void* const*>(a),
                             CUDA_R_16F, lda, reinterpret_cast<const void* const*>(b), CUDA_R_16F, ldb, beta,
                             reinterpret_cast<void* const*>(c), CUDA_R_16F, ldc, count, CUBLAS_COMPUTE_16F,
                             CUBLAS_GEMM_DEFAULT);
}
cublasStatus_t cublasHgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                         int m, int n, int k, const __half* alpha, const __half* a, int lda,
                                         long long stridea, const __half* b, int ldb, long long strideb,
                                         const __half* beta, __half* c, int ldc, long long stridec, int count) {
  return cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, a, CUDA_R_16F, lda, stridea, b, CUDA_R_16F,
                                    ldb, strideb, beta, c, CUDA_R_16F, ldc, stridec, count, CUBLAS_COMPUTE_16F,
                                    CUBLAS_GEMM_DEFAULT);
}

cublasStatus_t cublasDotEx(cublasHandle_t, int n, const void* x, cudaDataType x_type, int incx, const void* y,
                           cudaDataType y_type, int incy, void* result, cudaDataType result_type, cudaDataType) {
  OB_TWIN_LIBRARY_CALL;
  if (bytes_of(x_type) == 0 || bytes_of(y_type) == 0 || bytes_of(result_type) == 0) return kNot;
  const Elements left{x, x_type, n, incx}, right{y, y_type, n, incy};
  if (!left.is_there(call) || !right.is_there(call) || !call.access(result, bytes_of(result_type), 1)) return kFailed;
  double total = 0;
  for (int i = 0; i < n; ++i) total += left(i) * right(i);
  store(result, result_type, 0, total);
  return kDone;
}

cublasStatus_t cublasAxpyEx(cublasHandle_t, int n, const void* alpha, cudaDataType alpha_type, const void* x,
                            cudaDataType x_type, int incx, void* y, cudaDataType y_type, int incy, cudaDataType) {
  OB_TWIN_LIBRARY_CALL;
  if (bytes_of(x_type) == 0 || bytes_of(y_type) == 0 || bytes_of(alpha_type) == 0) return kNot;
  const Elements from{x, x_type, n, incx}, to{y, y_type, n, incy};
  if (!from.is_there(call) || !to.is_there(call) || !to.is_there(call, 1)) return kFailed;
  const double factor = load(alpha, alpha_type, 0);
  for (int i = 0; i < n; ++i) store(y, y_type, to.at(i), factor * from(i) + to(i));
  return kDone;
}

cublasStatus_t cublasNrm2Ex(cublasHandle_t, int n, const void* x, cudaDataType x_type, int incx, void* result,
                            cudaDataType result_type, cudaDataType) {
  OB_TWIN_LIBRARY_CALL;
  if (bytes_of(x_type) == 0 || bytes_of(result_type) == 0) return kNot;
  const Elements from{x, x_type, n, incx};
  if (!from.is_there(call) || !call.access(result, bytes_of(result_type), 1)) return kFailed;
  double total = 0;
  for (int i = 0; i < n; ++i) total += from(i) * from(i);
  store(result, result_type, 0, std::sqrt(total));
  return kDone;
}

cublasStatus_t cublasScalEx(cublasHandle_t, int n, const void* alpha, cudaDataType alpha_type, void* x,
                            cudaDataType x_type, int incx, cudaDataType) {
  OB_TWIN_LIBRARY_CALL;
  if (bytes_of(x_type) == 0 || bytes_of(alpha_type) == 0) return kNot;
  const Elements to{x, x_type, n, incx};
  if (!to.is_there(call) || !to.is_there(call, 1)) return kFailed;
  const double factor = load(alpha, alpha_type, 0);
  for (int i = 0; i < n; ++i) store(x, x_type, to.at(i), factor * to(i));
  return kDone;
}

// cuBLASLt's product with an epilogue: d = epilogue(alpha a b + beta c), an element at a time and in doubles.
//
// Reference: the table of cublasLtEpilogue_t in NVIDIA's documentation of cuBLASLt.  GELU is the approximation by tanh
// of Hendrycks and Gimpel, Gaussian Error Linear Units (arXiv 1606.08415), section 2.
#include <cublasLt.h>

#include <cmath>
#include <vector>

#include "elements.h"
#include "library_call.h"

namespace {

using namespace opbridge_twin::blas;
using opbridge_twin::LibraryCall;

constexpr cublasStatus_t kDone = CUBLAS_STATUS_SUCCESS, kInvalid = CUBLAS_STATUS_INVALID_VALUE,
                         kFailed = CUBLAS_STATUS_EXECUTION_FAILED, kNot = CUBLAS_STATUS_NOT_SUPPORTED;

// The epilogues are sums of these bits.
constexpr int kBias = 4, kRelu = 2, kGelu = 32, kAux = 128, kGeluBackward = 64;
constexpr double kGeluScale = 0.7978845608028654, kGeluCube = 0.044715;  // the root of 2 / pi, and a fit

bool is_supported(int epilogue) {
  switch (epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
    case CUBLASLT_EPILOGUE_RELU:
    case CUBLASLT_EPILOGUE_BIAS:
    case CUBLASLT_EPILOGUE_RELU_BIAS:
    case CUBLASLT_EPILOGUE_GELU:
    case CUBLASLT_EPILOGUE_GELU_BIAS:
    case CUBLASLT_EPILOGUE_GELU_AUX:
    case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
    case CUBLASLT_EPILOGUE_DGELU:
      return true;
    default:
      return false;
  }
}

double gelu(double x) { return 0.5 * x * (1 + std::tanh(kGeluScale * (x + kGeluCube * x * x * x))); }
double gelu_slope(double x) {
  const double t = std::tanh(kGeluScale * (x + kGeluCube * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kGeluScale * (1 + 3 * kGeluCube * x * x);
}

// A matrix of any type where it lies, with the layout that a program has described.
struct Elements {
  const cublasLtMatrixLayoutOpaque_t& layout;
  void* data;

  size_t span() const {
    const bool by_rows = layout.order == CUBLASLT_ORDER_ROW;
    const uint64_t lines = by_rows ? layout.rows : layout.columns, length = by_rows ? layout.columns : layout.rows;
    if (lines == 0 || length == 0) return 0;
    const uint64_t last = static_cast<uint64_t>(layout.apart) * static_cast<uint64_t>(layout.count - 1);
    return (last + (lines - 1) * static_cast<uint64_t>(layout.lead) + length) * bytes_of(layout.type);
  }
  ptrdiff_t place(int batch, uint64_t row, uint64_t column) const {
    const bool by_rows = layout.order == CUBLASLT_ORDER_ROW;
    const uint64_t line = by_rows ? row : column, within = by_rows ? column : row;
    return batch * layout.apart + static_cast<ptrdiff_t>(line) * layout.lead + static_cast<ptrdiff_t>(within);
  }
  double at(int batch, uint64_t row, uint64_t column) const {
    return load(data, layout.type, place(batch, row, column));
  }
};

// One call: each element of d is finished before the next, so d may lie where c does.
class Product {
 public:
  Product(const cublasLtMatmulDescOpaque_t& desc, Elements a, Elements b, Elements c, Elements d)
      : desc_(desc), a_(a), b_(b), c_(c), d_(d) {}

  cublasStatus_t run(const LibraryCall& call, const void* alpha, const void* beta) {
    const bool turned = desc_.transa != CUBLAS_OP_N;
    inner_ = turned ? a_.layout.rows : a_.layout.columns;
    if (!fits()) return kInvalid;
    if (!is_supported(desc_.epilogue)) return kNot;
    if (!is_there(call, alpha, beta)) return kFailed;
    alpha_ = load(alpha, desc_.scale_type, 0) * scale(0) * scale(1);
    beta_ = load(beta, desc_.scale_type, 0);
    const bool reads_c = beta_ != 0;
    if (reads_c && !call.access(c_.data, c_.span(), 0)) return kFailed;
    for (int batch = 0; batch < d_.layout.count; ++batch) {
      for (uint64_t column = 0; column < d_.layout.columns; ++column) fill_column(batch, column, reads_c);
    }
    return kDone;
  }

 private:
  bool fits() const {
    const bool turned_a = desc_.transa != CUBLAS_OP_N, turned_b = desc_.transb != CUBLAS_OP_N;
    const uint64_t rows = turned_a ? a_.layout.columns : a_.layout.rows;
    const uint64_t inner_b = turned_b ? b_.layout.columns : b_.layout.rows;
    const uint64_t columns = turned_b ? b_.layout.rows : b_.layout.columns;
    for (const Elements* one : {&a_, &b_, &c_, &d_}) {
      if (bytes_of(one->layout.type) == 0 || one->layout.count < 1) return false;
    }
    return inner_b == inner_ && rows == d_.layout.rows && columns == d_.layout.columns && c_.layout.rows == rows &&
           c_.layout.columns == columns;
  }
  bool is_there(const LibraryCall& call, const void* alpha, const void* beta) const {
    const size_t scalar = bytes_of(desc_.scale_type);
    const bool on_device = desc_.pointer_mode == CUBLASLT_POINTER_MODE_DEVICE;
    if (on_device && (!call.access(alpha, scalar, 0) || !call.access(beta, scalar, 0))) return false;
    const size_t bias = (desc_.epilogue & kBias) != 0 ? d_.layout.rows * bytes_of(bias_type()) : 0;
    const size_t aux = (desc_.epilogue & kAux) != 0 ? aux_span() : 0;
    return call.access(a_.data, a_.span(), 0) && call.access(b_.data, b_.span(), 0) &&
           call.access(d_.data, d_.span(), 1) && call.access(desc_.bias, bias, 0) &&
           call.access(desc_.aux, aux, (desc_.epilogue & kGeluBackward) == 0);
  }
  cudaDataType bias_type() const {
    return desc_.bias_type >= 0 ? static_cast<cudaDataType>(desc_.bias_type) : d_.layout.type;
  }
  size_t aux_span() const {
    return (static_cast<size_t>(desc_.aux_lead) * (d_.layout.columns - 1) + d_.layout.rows) * bytes_of(d_.layout.type);
  }
  double scale(int which) const {
    const void* const at = desc_.scales[which];
    return at == nullptr ? 1 : static_cast<double>(*static_cast<const float*>(at));
  }
  void fill_column(int batch, uint64_t column, bool reads_c) {
    const bool turned_a = desc_.transa != CUBLAS_OP_N, turned_b = desc_.transb != CUBLAS_OP_N;
    std::vector<double> sums(d_.layout.rows);
    for (uint64_t k = 0; k < inner_; ++k) {
      const double factor = turned_b ? b_.at(batch, column, k) : b_.at(batch, k, column);
      for (uint64_t row = 0; row < sums.size(); ++row) {
        sums[row] += factor * (turned_a ? a_.at(batch, k, row) : a_.at(batch, row, k));
      }
    }
    for (uint64_t row = 0; row < sums.size(); ++row) {
      double value = alpha_ * sums[row];
      if (reads_c) value += beta_ * scale(2) * c_.at(batch, row, column);
      store(d_.data, d_.layout.type, d_.place(batch, row, column), finished(value, row, column) * scale(3));
    }
  }
  // What the epilogue makes of a sum.
  double finished(double value, uint64_t row, uint64_t column) const {
    const ptrdiff_t aux = static_cast<ptrdiff_t>(column) * desc_.aux_lead + static_cast<ptrdiff_t>(row);
    if (desc_.epilogue == CUBLASLT_EPILOGUE_DGELU) return value * gelu_slope(load(desc_.aux, d_.layout.type, aux));
    if ((desc_.epilogue & kBias) != 0) value += load(desc_.bias, bias_type(), static_cast<ptrdiff_t>(row));
    if ((desc_.epilogue & kAux) != 0) store(desc_.aux, d_.layout.type, aux, value);
    if ((desc_.epilogue & kRelu) != 0) return value > 0 ? value : 0;
    return (desc_.epilogue & kGelu) != 0 ? gelu(value) : value;
  }

  const cublasLtMatmulDescOpaque_t& desc_;
  Elements a_, b_, c_, d_;
  uint64_t inner_ = 0;
  double alpha_ = 0, beta_ = 0;
};

}  // namespace

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int wanted,
                                              cublasLtMatmulHeuristicResult_t* results, int* count) {
  if (handle == nullptr || desc == nullptr || results == nullptr || count == nullptr || wanted < 1) return kInvalid;
  *count = is_supported(desc->epilogue) ? 1 : 0;
  results[0] = {{}, 0, *count != 0 ? kDone : kNot, 1, {}};
  return *count != 0 ? kDone : kNot;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                              const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t*, void*, size_t,
                              cudaStream_t) {
  OB_TWIN_LIBRARY_CALL;
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  for (const void* given :
       {static_cast<const void*>(desc), alpha, beta, static_cast<const void*>(a_layout),
        static_cast<const void*>(b_layout), static_cast<const void*>(c_layout), static_cast<const void*>(d_layout)}) {
    if (given == nullptr) return kInvalid;
  }
  const auto elements = [](const cublasLtMatrixLayout_t layout, const void* data) {
    return Elements{*layout, const_cast<void*>(data)};
  };
  return Product(*desc, elements(a_layout, a), elements(b_layout, b), elements(c_layout, c), elements(d_layout, d))
      .run(call, alpha, beta);
}

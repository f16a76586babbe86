// cuBLASLt's handles, and the descriptors of products and of layouts.
#include <cublasLt.h>
#include <string.h>

// Holds nothing: there is one device and no workspace.
struct cublasLtContext {};

namespace {

constexpr cublasStatus_t kDone = CUBLAS_STATUS_SUCCESS, kInvalid = CUBLAS_STATUS_INVALID_VALUE,
                         kNot = CUBLAS_STATUS_NOT_SUPPORTED;

// Where an attribute's value is kept; null for those that change no result.
struct Place {
  void* at;
  size_t bytes;
};
template <class T>
Place place_of(T& member) {
  return {&member, sizeof member};
}
Place place_of(cublasLtMatmulDescOpaque_t& desc, cublasLtMatmulDescAttributes_t attribute) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE:
      return place_of(desc.compute);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE:
      return place_of(desc.scale_type);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
      return place_of(desc.pointer_mode);
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return place_of(desc.transa);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return place_of(desc.transb);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return place_of(desc.epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return place_of(desc.bias);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return place_of(desc.bias_type);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
      return place_of(desc.aux);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
      return place_of(desc.aux_lead);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
    case CUBLASLT_MATMUL_DESC_C_SCALE_POINTER:
    case CUBLASLT_MATMUL_DESC_D_SCALE_POINTER:
      return place_of(desc.scales[attribute - CUBLASLT_MATMUL_DESC_A_SCALE_POINTER]);
    default:
      return {nullptr, 0};
  }
}
Place place_of(cublasLtMatrixLayoutOpaque_t& layout, cublasLtMatrixLayoutAttribute_t attribute) {
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE:
      return place_of(layout.type);
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
      return place_of(layout.order);
    case CUBLASLT_MATRIX_LAYOUT_ROWS:
      return place_of(layout.rows);
    case CUBLASLT_MATRIX_LAYOUT_COLS:
      return place_of(layout.columns);
    case CUBLASLT_MATRIX_LAYOUT_LD:
      return place_of(layout.lead);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return place_of(layout.count);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return place_of(layout.apart);
  }
  return {nullptr, 0};
}
cublasStatus_t set(Place place, const void* value, size_t bytes) {
  if (place.at == nullptr) return kNot;
  if (value == nullptr || bytes != place.bytes) return kInvalid;
  memcpy(place.at, value, bytes);
  return kDone;
}

template <class Opaque>
cublasStatus_t destroy(Opaque* object) {
  delete object;
  return kDone;
}

}  // namespace

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (handle == nullptr) return kInvalid;
  *handle = new cublasLtContext;
  return kDone;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return destroy(handle); }
size_t cublasLtGetVersion() { return CUBLAS_VERSION; }

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t desc, size_t, cublasComputeType_t compute,
                                               cudaDataType_t scale_type) {
  if (desc == nullptr) return kInvalid;
  *desc = {compute,     scale_type,  CUBLASLT_POINTER_MODE_HOST,
           CUBLAS_OP_N, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT,
           nullptr,     nullptr,     0,
           {},          nullptr,     -1};
  return kDone;
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute,
                                        cudaDataType_t scale_type) {
  if (desc == nullptr) return kInvalid;
  *desc = new cublasLtMatmulDescOpaque_t;
  return cublasLtMatmulDescInit_internal(*desc, sizeof **desc, compute, scale_type);
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) { return destroy(desc); }
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  if (desc == nullptr) return kInvalid;
  // Sums here are as exact as they can be, whatever a GPU is allowed.
  if (attribute == CUBLASLT_MATMUL_DESC_FAST_ACCUM) return kDone;
  return set(place_of(*desc, attribute), value, bytes);
}

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, size_t, cudaDataType_t type,
                                                 uint64_t rows, uint64_t columns, int64_t lead) {
  if (layout == nullptr) return kInvalid;
  *layout = {type, CUBLASLT_ORDER_COL, rows, columns, lead, 1, 0};
  return kDone;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type, uint64_t rows,
                                          uint64_t columns, int64_t lead) {
  if (layout == nullptr) return kInvalid;
  *layout = new cublasLtMatrixLayoutOpaque_t;
  return cublasLtMatrixLayoutInit_internal(*layout, sizeof **layout, type, rows, columns, lead);
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) { return destroy(layout); }
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                size_t bytes) {
  return layout == nullptr ? kInvalid : set(place_of(*layout, attribute), value, bytes);
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t preference, size_t) {
  if (preference == nullptr) return kInvalid;
  *preference = {0};
  return kDone;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  if (preference == nullptr) return kInvalid;
  *preference = new cublasLtMatmulPreferenceOpaque_t{0};
  return kDone;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) { return destroy(preference); }
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t, const void* value, size_t) {
  return preference == nullptr || value == nullptr ? kInvalid : kDone;
}

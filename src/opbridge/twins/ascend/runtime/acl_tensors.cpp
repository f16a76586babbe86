// Tensors and arrays of calls in two phases.
#include <opbridge_ascend/host/tensors.h>

#include "acl_state.h"

namespace {

template <class T>
aclnnStatus destroy(const char* call, const T* made) {
  if (made == nullptr) return opbridge_ascend::failed(ACLNN_ERR_PARAM_NULLPTR, std::string(call) + ": null");
  delete made;
  return ACLNN_SUCCESS;
}

template <class Array, class T>
Array* array_of(const char* call, const T* values, uint64_t size) {
  if (values == nullptr && size != 0) {
    opbridge_ascend::failed(ACLNN_ERR_PARAM_NULLPTR, std::string(call) + ": the values are null");
    return nullptr;
  }
  return new Array{{values, values + size}};
}

}  // namespace

aclnnStatus aclnnInit(const char*) { return ACLNN_SUCCESS; }
aclnnStatus aclnnFinalize() { return ACLNN_SUCCESS; }

aclTensor* aclCreateTensor(const int64_t* sizes, uint64_t rank, aclDataType type, const int64_t* strides,
                           int64_t offset, aclFormat, const int64_t*, uint64_t, void* data) {
  if (sizes == nullptr && rank != 0) {
    opbridge_ascend::failed(ACLNN_ERR_PARAM_NULLPTR, "aclCreateTensor: the sizes are null");
    return nullptr;
  }
  auto* const tensor = new aclTensor{{sizes, sizes + rank}, std::vector<int64_t>(rank, 1), type, nullptr};
  for (uint64_t i = rank; i-- > 0;) {
    const bool is_last = i + 1 == rank;
    if (strides != nullptr) {
      tensor->strides[i] = strides[i];
    } else if (!is_last) {
      tensor->strides[i] = tensor->strides[i + 1] * sizes[i + 1];
    }
  }
  const auto bytes = static_cast<int64_t>(aclDataTypeSize(type));
  tensor->data = data == nullptr ? nullptr : static_cast<uint8_t*>(data) + offset * bytes;
  return tensor;
}

aclnnStatus aclDestroyTensor(const aclTensor* tensor) { return destroy("aclDestroyTensor", tensor); }

aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* type) {
  if (tensor == nullptr || type == nullptr) {
    return opbridge_ascend::failed(ACLNN_ERR_PARAM_NULLPTR, "aclGetDataType: null");
  }
  *type = tensor->type;
  return ACLNN_SUCCESS;
}

aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** sizes, uint64_t* rank) {
  if (tensor == nullptr || sizes == nullptr || rank == nullptr) {
    return opbridge_ascend::failed(ACLNN_ERR_PARAM_NULLPTR, "aclGetViewShape: null");
  }
  *rank = tensor->sizes.size();
  *sizes = new int64_t[*rank];
  for (uint64_t i = 0; i < *rank; ++i) (*sizes)[i] = tensor->sizes[i];
  return ACLNN_SUCCESS;
}

aclIntArray* aclCreateIntArray(const int64_t* values, uint64_t size) {
  return array_of<aclIntArray>("aclCreateIntArray", values, size);
}
aclnnStatus aclDestroyIntArray(const aclIntArray* array) { return destroy("aclDestroyIntArray", array); }
aclFloatArray* aclCreateFloatArray(const float* values, uint64_t size) {
  return array_of<aclFloatArray>("aclCreateFloatArray", values, size);
}
aclnnStatus aclDestroyFloatArray(const aclFloatArray* array) { return destroy("aclDestroyFloatArray", array); }
aclBoolArray* aclCreateBoolArray(const bool* values, uint64_t size) {
  return array_of<aclBoolArray>("aclCreateBoolArray", values, size);
}
aclnnStatus aclDestroyBoolArray(const aclBoolArray* array) { return destroy("aclDestroyBoolArray", array); }

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor) { return destroy("aclDestroyAclOpExecutor", executor); }

aclError ob_ascend_acl_failed(aclError error, const char* message) { return opbridge_ascend::failed(error, message); }

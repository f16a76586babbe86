// Makes what calls in two phases take; written from the public API reference.
#ifndef OPBRIDGE_ASCEND_ACL_META_H
#define OPBRIDGE_ASCEND_ACL_META_H

#include <acl/acl_rt.h>

#include "aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Sizes and strides are copied; the data stays the caller's.
aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType, const int64_t* stride,
                           int64_t offset, aclFormat format, const int64_t* storageDims, uint64_t storageDimsNum,
                           void* tensorData);
aclnnStatus aclDestroyTensor(const aclTensor* tensor);
aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* dataType);
// The sizes are the caller's, who frees them with delete[].
aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** viewDims, uint64_t* viewDimsNum);

aclIntArray* aclCreateIntArray(const int64_t* value, uint64_t size);
aclnnStatus aclDestroyIntArray(const aclIntArray* array);
aclFloatArray* aclCreateFloatArray(const float* value, uint64_t size);
aclnnStatus aclDestroyFloatArray(const aclFloatArray* array);
aclBoolArray* aclCreateBoolArray(const bool* value, uint64_t size);
aclnnStatus aclDestroyBoolArray(const aclBoolArray* array);

// Destroys an executor whose second phase is never called.
aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor);

#ifdef __cplusplus
}
#endif

#endif

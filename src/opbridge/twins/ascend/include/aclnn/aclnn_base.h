// What calls in two phases share: tensors and arrays as hosts describe them, and what such a call answers.
#ifndef OPBRIDGE_ASCEND_ACLNN_BASE_H
#define OPBRIDGE_ASCEND_ACLNN_BASE_H

#include <acl/acl_base.h>

typedef struct aclTensor aclTensor;
typedef struct aclIntArray aclIntArray;
typedef struct aclFloatArray aclFloatArray;
typedef struct aclBoolArray aclBoolArray;
// What the first phase hands to the second, which uses it up.
typedef struct aclOpExecutor aclOpExecutor;

typedef int32_t aclnnStatus;

enum : int {
  ACLNN_SUCCESS = 0,
  ACLNN_ERR_PARAM_NULLPTR = 161001,
  ACLNN_ERR_PARAM_INVALID = 161002,
  ACLNN_ERR_RUNTIME_ERROR = 361001,
  ACLNN_ERR_INNER = 561000,
  ACLNN_ERR_INNER_TILING_ERROR = 561002,
  ACLNN_ERR_INNER_FIND_KERNEL_ERROR = 561003,
};

#ifdef __cplusplus
extern "C" {
#endif
aclnnStatus aclnnInit(const char* configuration);
aclnnStatus aclnnFinalize();
#ifdef __cplusplus
}
#endif

#endif

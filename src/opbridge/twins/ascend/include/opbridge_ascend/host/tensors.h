// What aclCreateTensor and its like make.
#ifndef OPBRIDGE_ASCEND_HOST_TENSORS_H
#define OPBRIDGE_ASCEND_HOST_TENSORS_H

#include <aclnn/acl_meta.h>

#include <string>
#include <vector>

// A view of memory that its maker owns; strides count elements, and may be any.
struct aclTensor {
  std::vector<int64_t> sizes, strides;
  aclDataType type;
  uint8_t* data;  // of the first element
};
struct aclIntArray {
  std::vector<int64_t> values;
};
struct aclFloatArray {
  std::vector<double> values;
};
// An array of numbers like aclIntArray: a vector of bool has no memory to pass on.
struct aclBoolArray {
  std::vector<int64_t> values;
};
// An operator's library knows what it has planned.
struct aclOpExecutor {
  aclOpExecutor() = default;
  aclOpExecutor(const aclOpExecutor&) = delete;
  aclOpExecutor& operator=(const aclOpExecutor&) = delete;
  virtual ~aclOpExecutor() = default;
  virtual aclnnStatus run(const char* call, void* workspace, uint64_t bytes) = 0;
};

extern "C" {
// Notes what aclGetRecentErrMsg says, and prints it.
aclError ob_ascend_acl_failed(aclError error, const char* message);
}

#endif

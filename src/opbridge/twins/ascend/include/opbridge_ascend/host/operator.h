// A call of a project's operator by opbridge, whose tensors it takes as its own.
#ifndef OPBRIDGE_ASCEND_HOST_OPERATOR_H
#define OPBRIDGE_ASCEND_HOST_OPERATOR_H

#include <opbridge_ascend/aot.h>
// Must follow the include above, which defines how an exported function calls the implementation.
#include <opbridge/kernel.h>
#include <opbridge_ascend/device.h>

#include "graph.h"
#include "opapi.h"

namespace opbridge_ascend {

inline int32_t graph_type_of(ob::DType type) {
  switch (type.code) {
    case OB_bool:
      return ge::DT_BOOL;
    case OB_uint8:
      return ge::DT_UINT8;
    case OB_int8:
      return ge::DT_INT8;
    case OB_uint16:
      return ge::DT_UINT16;
    case OB_int16:
      return ge::DT_INT16;
    case OB_uint32:
      return ge::DT_UINT32;
    case OB_int32:
      return ge::DT_INT32;
    case OB_uint64:
      return ge::DT_UINT64;
    case OB_int64:
      return ge::DT_INT64;
    case OB_float16:
      return ge::DT_FLOAT16;
    case OB_bfloat16:
      return ge::DT_BF16;
    case OB_float32:
      return ge::DT_FLOAT;
    case OB_float64:
      return ge::DT_DOUBLE;
    default:
      return ge::DT_UNDEFINED;
  }
}

template <class Tensor>
void pass_input(OperatorCall& call, const Tensor& tensor) {
  call.input(true, tensor.data(), tensor.shape().data(), static_cast<size_t>(tensor.ndim()),
             graph_type_of(tensor.dtype()));
}

template <class Tensor>
void pass_input(OperatorCall& call, const ob::Optional<Tensor>& tensor) {
  if (tensor) {
    pass_input(call, *tensor);
  } else {
    call.input(false, nullptr, nullptr, 0, -1);
  }
}

template <class Tensor>
void pass_output(OperatorCall& call, const Tensor& tensor) {
  call.output(tensor.data(), tensor.shape().data(), static_cast<size_t>(tensor.ndim()), graph_type_of(tensor.dtype()));
}

inline void pass_attribute(OperatorCall& call, int64_t value) { call.attribute(value); }
inline void pass_attribute(OperatorCall& call, double value) { call.attribute(value); }
inline void pass_attribute(OperatorCall& call, bool value) { call.attribute(value); }
inline void pass_attribute(OperatorCall& call, ob::String text) { call.attribute(text.data()); }
inline void pass_attribute(OperatorCall& call, ob::Ints values) {
  call.attribute("int[]", values.data(), static_cast<size_t>(values.size()));
}
inline void pass_attribute(OperatorCall& call, ob::Floats values) {
  call.attribute(values.data(), static_cast<size_t>(values.size()));
}
inline void pass_attribute(OperatorCall& call, ob::Bools values) {
  const std::vector<int64_t> numbers(values.begin(), values.end());
  call.attribute("bool[]", numbers.data(), numbers.size());
}

inline void run_at_once(OperatorCall& call) {
  if (call.plan() != ACLNN_SUCCESS) ob::fail(call.error.c_str());
  void* workspace = nullptr;
  if (call.workspace() != 0) {
    workspace = ob::scratch(call.workspace());
    memset(ob_ascend_window(workspace), 0, call.workspace());
  }
  const aclnnStatus status = call.run(workspace, call.workspace());
  // The caller of this function reports the findings of the checks.
  if (status != ACLNN_SUCCESS && status != ACLNN_ERR_RUNTIME_ERROR) ob::fail(call.error.c_str());
}

}  // namespace opbridge_ascend
#endif

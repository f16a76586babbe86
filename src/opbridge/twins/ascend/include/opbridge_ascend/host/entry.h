// How Python asks the host library of an operator project what it defines, and has its host functions run.
#ifndef OPBRIDGE_ASCEND_HOST_ENTRY_H
#define OPBRIDGE_ASCEND_HOST_ENTRY_H

#include <stdint.h>

extern "C" {
// An input that is left out has -1 dimensions.
typedef struct ob_ascend_tensor {
  const int64_t* shape;
  int32_t ndim;
  int32_t dtype;  // as ge::DataType
  const void* data;
} ob_ascend_tensor;

// An attribute of one kind: a number as `integers` or `reals` of length 1, a list, or a text.
typedef struct ob_ascend_attribute {
  const char* type;  // "int", "float", "bool", "str", "int[]", "float[]"
  const int64_t* integers;
  const double* reals;
  const char* text;
  int32_t count;
} ob_ascend_attribute;

typedef struct ob_ascend_call {
  const char* type;  // of the operator
  const ob_ascend_tensor* inputs;
  const ob_ascend_tensor* outputs;
  const ob_ascend_attribute* attributes;
  int32_t input_count, output_count, attribute_count;
} ob_ascend_call;

typedef struct ob_ascend_plan {
  uint64_t key, workspace, tiling_bytes;
  uint32_t blocks;
  uint8_t tiling[1 << 16];
} ob_ascend_plan;

// What the library defines, as JSON.
const char* ob_ascend_describe(void);
// 0, or why not: the operator is unknown, it has no such function, the function fails.
int ob_ascend_tile(const ob_ascend_call* call, ob_ascend_plan* plan);
// Into room for 25 sizes each.
int ob_ascend_infer(const ob_ascend_call* call, int64_t (*shapes)[25], int32_t* ndims, int32_t* dtypes);
}

#endif

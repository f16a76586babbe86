// The driver API is not part of the twin; its names for what the runtime API gives are.
#ifndef OPBRIDGE_TWIN_CUDA_H
#define OPBRIDGE_TWIN_CUDA_H
#define __cuda_cuda_h__  // how programs ask whether it is included

#include <cuda_runtime_api.h>

#define CUDA_VERSION 12080

typedef cudaStream_t CUstream;
typedef cudaEvent_t CUevent;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef unsigned cuuint32_t;
typedef unsigned long long cuuint64_t;
#ifdef __cplusplus
typedef cudaLaunchAttribute CUlaunchAttribute;
#endif
typedef enum cudaError_enum {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_NOT_SUPPORTED = 801,
  CUDA_ERROR_UNKNOWN = 999
} CUresult;

// What copies of tensors are described by; there are no such copies.
typedef enum CUtensorMapDataType_enum {
  CU_TENSOR_MAP_DATA_TYPE_UINT8,
  CU_TENSOR_MAP_DATA_TYPE_UINT16,
  CU_TENSOR_MAP_DATA_TYPE_UINT32,
  CU_TENSOR_MAP_DATA_TYPE_INT32,
  CU_TENSOR_MAP_DATA_TYPE_UINT64,
  CU_TENSOR_MAP_DATA_TYPE_INT64,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
  CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ,
  CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
  CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ,
  CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B,
  CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B,
  CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B
} CUtensorMapDataType;
typedef enum CUtensorMapInterleave_enum {
  CU_TENSOR_MAP_INTERLEAVE_NONE,
  CU_TENSOR_MAP_INTERLEAVE_16B,
  CU_TENSOR_MAP_INTERLEAVE_32B
} CUtensorMapInterleave;
typedef enum CUtensorMapSwizzle_enum {
  CU_TENSOR_MAP_SWIZZLE_NONE,
  CU_TENSOR_MAP_SWIZZLE_32B,
  CU_TENSOR_MAP_SWIZZLE_64B,
  CU_TENSOR_MAP_SWIZZLE_128B,
  CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B,
  CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B,
  CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B
} CUtensorMapSwizzle;
typedef enum CUtensorMapL2promotion_enum {
  CU_TENSOR_MAP_L2_PROMOTION_NONE,
  CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
  CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
  CU_TENSOR_MAP_L2_PROMOTION_L2_256B
} CUtensorMapL2promotion;
typedef enum CUtensorMapFloatOOBfill_enum {
  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
  CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
} CUtensorMapFloatOOBfill;
typedef struct CUtensorMap_st {
  __attribute__((aligned(64))) unsigned long long opaque[16];
} CUtensorMap;

static __inline__ CUresult ob_twin_result(cudaError_t error) {
  return error == cudaSuccess             ? CUDA_SUCCESS
         : error == cudaErrorInvalidValue ? CUDA_ERROR_INVALID_VALUE
                                          : CUDA_ERROR_UNKNOWN;
}
// Byte by byte of the value, the same one in each element.
static __inline__ CUresult ob_twin_set_elements(CUdeviceptr memory, size_t size, unsigned value, size_t count,
                                                CUstream stream) {
  cudaError_t error = cudaSuccess;
  for (size_t byte = 0; byte < size && error == cudaSuccess; ++byte)
    error = cudaMemset2DAsync((char*)memory + byte, size, (int)(value >> 8 * byte & 255), 1, count, stream);
  return ob_twin_result(error);
}
static __inline__ CUresult cuMemsetD8Async(CUdeviceptr memory, unsigned char value, size_t count, CUstream stream) {
  return ob_twin_result(cudaMemsetAsync((void*)memory, value, count, stream));
}
static __inline__ CUresult cuMemsetD16Async(CUdeviceptr memory, unsigned short value, size_t count, CUstream stream) {
  return ob_twin_set_elements(memory, 2, value, count, stream);
}
static __inline__ CUresult cuMemsetD32Async(CUdeviceptr memory, unsigned value, size_t count, CUstream stream) {
  return ob_twin_set_elements(memory, 4, value, count, stream);
}
static __inline__ CUresult cuGetErrorString(CUresult result, const char** text) {
  *text = result == CUDA_SUCCESS ? "no error" : "an error that the runtime API has told";
  return CUDA_SUCCESS;
}

#endif

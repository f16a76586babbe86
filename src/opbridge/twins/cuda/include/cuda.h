// The driver API is not part of the twin; its names for what the runtime API gives are.
#ifndef OPBRIDGE_TWIN_CUDA_H
#define OPBRIDGE_TWIN_CUDA_H

#include <driver_types.h>

#define CUDA_VERSION 12080

typedef cudaStream_t CUstream;
typedef cudaEvent_t CUevent;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;

#endif

// Pointers to functions of the driver API that copy tensors, of which the twin has none.
#ifndef OPBRIDGE_TWIN_CUDA_TYPEDEFS_H
#define OPBRIDGE_TWIN_CUDA_TYPEDEFS_H

#include <cuda.h>

typedef CUresult (*PFN_cuTensorMapEncodeTiled)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                                               const cuuint64_t*, const cuuint32_t*, const cuuint32_t*,
                                               CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                                               CUtensorMapFloatOOBfill);
typedef CUresult (*PFN_cuTensorMapEncodeIm2col)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                                                const cuuint64_t*, const int*, const int*, cuuint32_t, cuuint32_t,
                                                const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
typedef PFN_cuTensorMapEncodeTiled PFN_cuTensorMapEncodeTiled_v12000;
typedef PFN_cuTensorMapEncodeIm2col PFN_cuTensorMapEncodeIm2col_v12000;

#endif

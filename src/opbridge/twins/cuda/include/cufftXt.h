// cuFFT's plans with sizes of 64 bits and the types of each side; neither callbacks nor several devices.
#ifndef OPBRIDGE_TWIN_CUFFT_XT_H
#define OPBRIDGE_TWIN_CUFFT_XT_H

#include <cufft.h>
#include <library_types.h>

#ifdef __cplusplus
extern "C" {
#endif

cufftResult cufftXtMakePlanMany(cufftHandle handle, int rank, long long* n, long long* inembed, long long istride,
                                long long idist, cudaDataType from, long long* onembed, long long ostride,
                                long long odist, cudaDataType to, long long batch, size_t* work, cudaDataType computes);

#ifdef __cplusplus
}
#endif
#endif

// Stands before PyTorch's header of this name.
#ifndef OPBRIDGE_TWIN_ATEN_CUDA_EXCEPTIONS_H
#define OPBRIDGE_TWIN_ATEN_CUDA_EXCEPTIONS_H

#include <c10/cuda/CUDAException.h>

#define AT_CUDA_CHECK(EXPR) C10_CUDA_CHECK(EXPR)

// Checks results of NVIDIA libraries; callers include the headers of these libraries.
#define OB_TWIN_LIBRARY_CHECK(SUCCESS, CALL, BEGINNING, TEXT_OF, ...)                                     \
  do {                                                                                                    \
    const auto ob_twin_status = (CALL);                                                                   \
    TORCH_CHECK(ob_twin_status == SUCCESS, BEGINNING " error: ", TEXT_OF(ob_twin_status), ##__VA_ARGS__); \
  } while (0)

#define TORCH_CUDABLAS_CHECK(EXPR) \
  OB_TWIN_LIBRARY_CHECK(CUBLAS_STATUS_SUCCESS, EXPR, "CUDA", cublasGetStatusName, " when calling `" #EXPR "`")
#define TORCH_CUDASPARSE_CHECK(EXPR) \
  OB_TWIN_LIBRARY_CHECK(CUSPARSE_STATUS_SUCCESS, EXPR, "CUDA", cusparseGetErrorString, " when calling `" #EXPR "`")
#define TORCH_CUSOLVER_CHECK(EXPR) \
  OB_TWIN_LIBRARY_CHECK(CUSOLVER_STATUS_SUCCESS, EXPR, "cusolver", int, ", when calling `" #EXPR "`")
#define AT_CUDNN_CHECK(EXPR, ...) \
  OB_TWIN_LIBRARY_CHECK(CUDNN_STATUS_SUCCESS, EXPR, "cuDNN", cudnnGetErrorString, ##__VA_ARGS__)
#define AT_CUDA_DRIVER_CHECK(EXPR) OB_TWIN_LIBRARY_CHECK(CUDA_SUCCESS, EXPR, "CUDA driver", int)

#endif

"""Sources in C++, CUDA and Ascend C as opbridge reads them: tokens, brackets, kernels."""

"""The readers of C++, CUDA and Ascend C sources: tokens, brackets, kernels."""

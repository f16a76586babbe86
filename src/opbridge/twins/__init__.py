"""The twins: CPU simulators that run CUDA and Ascend C kernels, at full speed or with every access checked."""

"""Sources of Ascend C: kernels that nobody can call as functions."""

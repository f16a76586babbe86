"""Ascend C sources, whose kernels cannot be called as functions."""

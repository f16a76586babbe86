"""Compute the cost of Ascend C kernels: the work and waits of each pipe, from the instructions that the twin ran."""

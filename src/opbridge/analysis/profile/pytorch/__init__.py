"""Compute the cost of a PyTorch model: its own CUDA kernels, and the PyTorch operators around them.

The model runs at its own sizes without being computed. Of each kernel, only the counted blocks run, and PyTorch
operators only determine the form of their results.
"""

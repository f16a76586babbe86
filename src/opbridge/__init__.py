"""Write a tensor operator once, call it from PyTorch, MindSpore, JAX and NumPy, on CPU, CUDA and Ascend."""

from opbridge._version import __version__

__all__ = ["__version__"]

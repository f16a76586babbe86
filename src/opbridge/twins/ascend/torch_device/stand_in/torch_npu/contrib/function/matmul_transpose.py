"""The stand-in for the torch_npu module of this name."""

from opbridge.twins.ascend.torch_device.contributed_functions import matmul_transpose

__all__ = ["matmul_transpose"]

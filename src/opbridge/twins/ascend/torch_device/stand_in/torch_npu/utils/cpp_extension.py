"""The stand-in for the torch_npu module of this name."""

from opbridge.twins.ascend.torch_device.cpp_extension import NpuExtension

__all__ = ["NpuExtension"]

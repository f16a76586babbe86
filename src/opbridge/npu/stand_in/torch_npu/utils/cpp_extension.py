"""The stand-in for the torch_npu module of this name."""

from opbridge.npu.building import NpuExtension

__all__ = ["NpuExtension"]

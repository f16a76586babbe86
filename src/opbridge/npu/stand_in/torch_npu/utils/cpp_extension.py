"""Stands for torch_npu's module of this name."""

from opbridge.npu.building import NpuExtension

__all__ = ["NpuExtension"]

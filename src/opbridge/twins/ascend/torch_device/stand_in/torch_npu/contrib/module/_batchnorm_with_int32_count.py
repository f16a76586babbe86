"""The stand-in for the torch_npu module of this name."""

from opbridge.twins.ascend.torch_device.contributed_modules import FastBatchNorm1d, FastBatchNorm2d, FastBatchNorm3d

__all__ = ["FastBatchNorm1d", "FastBatchNorm2d", "FastBatchNorm3d"]

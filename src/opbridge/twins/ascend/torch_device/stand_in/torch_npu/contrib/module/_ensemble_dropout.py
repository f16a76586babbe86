"""The stand-in for the torch_npu module of this name."""

from opbridge.twins.ascend.torch_device.contributed_modules import NpuPreGenDropout

__all__ = ["NpuPreGenDropout"]

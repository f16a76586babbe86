"""The stand-in for the torch_npu module of this name."""

from opbridge.twins.ascend.torch_device.contributed_modules import BiLSTM

__all__ = ["BiLSTM"]

"""The stand-in for the torch_npu module of this name."""

from opbridge.twins.ascend.torch_device.contributed_functions import dropout_with_byte_mask

__all__ = ["dropout_with_byte_mask"]

"""The stand-in for the torch_npu module of this name."""

from opbridge.twins.ascend.torch_device.contributed_functions import fuse_add_softmax_dropout

__all__ = ["fuse_add_softmax_dropout"]

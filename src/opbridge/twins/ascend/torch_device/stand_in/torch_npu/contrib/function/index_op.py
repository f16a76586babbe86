"""The stand-in for the torch_npu module of this name."""

from opbridge.twins.ascend.torch_device.contributed_functions import npu_fast_condition_index_put

__all__ = ["npu_fast_condition_index_put"]

"""The stand-in for the torch_npu module of this name."""

from opbridge.twins.ascend.torch_device.contributed_functions import npu_iou, npu_ptiou

__all__ = ["npu_iou", "npu_ptiou"]

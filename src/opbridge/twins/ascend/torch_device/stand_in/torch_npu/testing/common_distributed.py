"""The stand-in for the torch_npu module of this name."""

from opbridge.twins.ascend.torch_device.conditions_for_tests import (
    skipIfUnsupportMultiNPU,
)

__all__ = [
    "skipIfUnsupportMultiNPU",
]

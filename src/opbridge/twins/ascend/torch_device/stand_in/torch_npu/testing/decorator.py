"""The stand-in for the torch_npu module of this name."""

from opbridge.twins.ascend.torch_device.variants_of_tests import (
    Dtypes,
    Formats,
    instantiate_tests,
)

__all__ = [
    "Dtypes",
    "Formats",
    "instantiate_tests",
]

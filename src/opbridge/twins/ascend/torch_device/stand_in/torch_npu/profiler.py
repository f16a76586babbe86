"""The stand-in for the torch_npu module of this name."""

from opbridge.twins.ascend.torch_device.profiling import *  # noqa: F403 - its names are listed there
from opbridge.twins.ascend.torch_device.profiling import __all__ as __all__

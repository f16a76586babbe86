"""The stand-in for the torch_npu module of this name."""

from torch_npu.contrib.function import *  # noqa: F403
from torch_npu.contrib.module import *  # noqa: F403

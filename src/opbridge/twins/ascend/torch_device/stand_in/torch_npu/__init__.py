"""The stand-in for torch_npu on a machine without NPUs: the devices are those of opbridge.npu."""

from __future__ import annotations

import sys

import torch

from opbridge.twins.ascend.torch_device import npu_module as npu
from opbridge.twins.ascend.torch_device.operators import EXPOSED

__version__ = f"{torch.__version__.partition('+')[0]}+opbridge"
__all__ = ["npu", *EXPOSED]

sys.modules[f"{__name__}.npu"] = npu
sys.modules[f"{__name__}.npu.amp"] = npu.amp
globals().update(EXPOSED)

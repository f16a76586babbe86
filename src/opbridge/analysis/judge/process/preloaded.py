"""Import on import what PyTorch imports on its first call, once for all forks of this process."""

from __future__ import annotations

import logging

import torch

# Silence the warning on the first import that there is no Triton, if a device is `cuda`.
logging.getLogger("torch.utils.flop_counter").setLevel(logging.ERROR)

from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from opbridge.analysis.judge.process.operator_modes import Operators  # noqa: E402

with torch.no_grad(), FlopCounterMode(display=False), Operators():
    torch.nn.Linear(1, 1).double()(torch.zeros(1, 1, dtype=torch.float64))

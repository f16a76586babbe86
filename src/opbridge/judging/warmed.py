"""Importing this imports what PyTorch imports when it is first called, once for all who are forks of this process."""

from __future__ import annotations

import torch
from torch.utils.flop_counter import FlopCounterMode

from opbridge.judging.operators_run import Operators

with torch.no_grad(), FlopCounterMode(display=False), Operators():
    torch.nn.Linear(1, 1).double()(torch.zeros(1, 1, dtype=torch.float64))

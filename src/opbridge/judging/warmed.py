"""Importing this imports what PyTorch imports when it is first called, once for all who are forks of this process."""

from __future__ import annotations

import logging

import torch

# Of its first import, that there is no Triton, where a device is `cuda`.
logging.getLogger("torch.utils.flop_counter").setLevel(logging.ERROR)

from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from opbridge.judging.operators_run import Operators  # noqa: E402

with torch.no_grad(), FlopCounterMode(display=False), Operators():
    torch.nn.Linear(1, 1).double()(torch.zeros(1, 1, dtype=torch.float64))

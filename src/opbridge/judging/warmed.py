"""Importing this builds the device and the headers that answers' extensions need, where they are not in the cache.

What PyTorch imports when it is first called is imported here too, once for all who are forks of this process.
"""

from __future__ import annotations

import torch
import torch.utils.cpp_extension
from torch.utils.flop_counter import FlopCounterMode

import opbridge.cuda_twin  # noqa: F401 - brings the device, and with it another load_inline
from opbridge.judging.operators_run import Operators

torch.utils.cpp_extension.load_inline(
    name="opbridge_warm",
    cpp_sources="torch::Tensor warm(torch::Tensor x);",
    cuda_sources="__global__ void k() {}\ntorch::Tensor warm(torch::Tensor x) { k<<<1, 1>>>(); return x; }",
    functions=["warm"],
)

with torch.no_grad(), FlopCounterMode(display=False), Operators():
    torch.nn.Linear(1, 1).double()(torch.zeros(1, 1, dtype=torch.float64))

"""The process of the row `npu`: `npu_worker.py ROUNDS` prints times as JSON."""

from __future__ import annotations

import json
import sys

import torch
from calls import KERNELS
from timing import burst, race

import opbridge as ob
import opbridge.npu

_STATEMENTS = {
    "an operator of ours": "op(x)",
    "torch.add": "torch.add(x, x)",
    "torch.relu": "torch.relu(x)",
    "x.sum()": "x.sum()",
    "x.clone()": "x.clone()",
    "x.view(4, 4)": "x.view(4, 4)",
}


def main(rounds: int) -> None:
    op = ob.load(KERNELS / "ops.yaml").leaky_relu
    tensors = {device: torch.randn(16).to(device) for device in ("npu", "cpu")}
    times = {
        name: race({device: burst(statement, op=op, torch=torch, x=x) for device, x in tensors.items()}, rounds)
        for name, statement in _STATEMENTS.items()
    }
    print(json.dumps(times))


if __name__ == "__main__":
    main(int(sys.argv[1]))

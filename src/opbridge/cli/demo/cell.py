"""Build, call and check the demo's PyTorch extension, and print its build time and whether it is right as JSON."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from pathlib import Path

import opbridge as ob

_CELL = "demo::cell(Tensor x, Tensor state, Tensor weights) -> (Tensor new_state, Tensor keep, Tensor fresh)"


def _try(source: Path) -> tuple[float, bool]:
    """Return the seconds until the first result of the extension, and whether it and its gradient are right."""
    import torch

    started = time.perf_counter()
    functions = ob.extension("demo_cell", sources=[source])
    cell = ob.autograd(
        forward=functions.forward,
        backward=functions.backward,
        outputs="new_state",
        saved=("x", "state", "weights", "keep", "fresh"),
        schema=_CELL,
        out=["state", "state", "state"],
    )
    inputs = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in ((2, 3), (2, 4), (8, 7))]
    value = cell(*inputs)
    seconds = time.perf_counter() - started
    x, state, weights = inputs
    keep, fresh = (torch.cat([x, state], 1) @ weights.T).chunk(2, 1)
    right = torch.allclose(value, torch.sigmoid(keep) * state + (1 - torch.sigmoid(keep)) * torch.tanh(fresh))
    with contextlib.suppress(RuntimeError):
        right = right and torch.autograd.gradcheck(cell, inputs)
    return seconds, right


if __name__ == "__main__":
    print(json.dumps(_try(Path(sys.argv[1]))))

"""A line below the demo's table: a PyTorch extension with a gradient, compiled and imported in this process."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import opbridge as ob
from opbridge.base.progress import show
from opbridge.cli.demo.scenarios import EXTENSION, NO_TORCH
from opbridge.cli.terminal import green, red

_CELL = "demo::cell(Tensor x, Tensor state, Tensor weights) -> (Tensor new_state, Tensor keep, Tensor fresh)"


def show_extension(folder: Path, width: int, frameworks: list[str]) -> bool:
    """Build, call and check the extension, print its line, and return whether it is wrong."""
    line = f"\n  {EXTENSION.source:{width}}  {EXTENSION.operator:13} "
    if "torch" not in frameworks:
        print(f"{line}{'':9} {NO_TORCH}")
        return False
    import torch

    show("compiling a PyTorch extension ...")
    started = time.perf_counter()
    functions = ob.extension("demo_cell", sources=[folder / EXTENSION.file])
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
    marks = " ".join(
        (green("✓∂") if right else red("✗✗")) + " " * 8 if name == "torch" else " " * 10 for name in frameworks
    )
    show()
    print(f"{line}{f'{seconds:.2f} s':9} {marks}")
    return not right

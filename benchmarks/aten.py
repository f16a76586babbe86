"""Compare PyTorch operators called by name with PyTorch's own calls."""

from __future__ import annotations

import time

from table import Row
from timing import Spread, burst, differences, race

import opbridge as ob

_SMALL = 4
_NAMES = 500


def small_calls(quick: bool) -> list[Row]:
    """Measure the time that `ob.aten` adds to a call of PyTorch, which a ratio would hide."""
    import numpy as np
    import torch

    x = np.linspace(-1, 1, _SMALL, dtype=np.float32)
    rows = []
    for name, statement, own in (
        ("leaky_relu", "f(x)", torch.nn.functional.leaky_relu),
        ("add", "f(x, x)", torch.add),
        ("sum", "f(x, [0], keepdim=True)", torch.sum),
    ):
        ours = burst(statement, f=ob.aten(name).numpy, x=x)
        times = race({"ours": ours, "own": burst(statement, f=own, x=torch.from_numpy(x))}, rounds=5 if quick else 301)
        added = differences(times["ours"], times["own"])
        rows.append(Row.absolute(f'`ob.aten("{name}")` from NumPy, 4 floats, over PyTorch\'s own call', added, "3e-6"))
    return rows


def loading(_: bool) -> list[Row]:
    import torch

    names = sorted({name.partition(".")[0] for name in torch._C._dispatch_get_all_op_names() if "aten::" in name})
    start = time.perf_counter()
    for name in names[:_NAMES]:
        ob.aten(name)
    taken = time.perf_counter() - start
    return [Row.absolute(f"`ob.aten` of {_NAMES} operators", Spread.of([taken]), "0.1")]

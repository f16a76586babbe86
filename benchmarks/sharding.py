"""Compare operators on DTensors with PyTorch's pointwise operators: the cost of dividing a call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import peers
from table import Row
from timing import burst, race

import opbridge as ob

_SMALL = 4


def dtensor_call(quick: bool) -> list[Row]:
    import torch

    op = ob.load(peers.KERNELS / "ops.yaml").leaky_relu
    with _one_process_mesh() as mesh, torch.no_grad():
        from torch.distributed.tensor import Shard, distribute_tensor

        x = distribute_tensor(torch.randn(_SMALL), mesh, [Shard(0)])
        own = {"torch.relu": torch.relu, "torch.nn.functional.leaky_relu": torch.nn.functional.leaky_relu}
        contestants = {name: burst("f(x)", f=function, x=x) for name, function in {"op(x)": op, **own}.items()}
        times = race(contestants, rounds=5 if quick else 501)
    what = "PyTorch call on a DTensor, 4 floats, no grad: `op(x)`"
    return [Row.relative(what, times["op(x)"], peer, times[peer], "1.3") for peer in own]


@contextmanager
def _one_process_mesh() -> Iterator[Any]:
    """Measure one process: the cost of a call does not depend on the number of processes."""
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        yield init_device_mesh("cpu", (1,))
    finally:
        dist.destroy_process_group()

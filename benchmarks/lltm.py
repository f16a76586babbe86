"""Compare a recurrent cell, forward and backward: a kernel, and PyTorch from Python, from C++ and compiled."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import peers
from table import Row
from timing import Contestant, burst, race

_FOLDER = peers.ROOT / "examples" / "lltm"
_BATCH, _STATE, _INPUTS = 16, 128, 32

_FORWARD = "f(*a)"
_BOTH = "grad(f(*a), a, g)"


def cell(quick: bool) -> list[Row]:
    with _one_thread():
        return [*_rows("forward with grad", _FORWARD, quick), *_rows("forward and backward", _BOTH, quick)]


def products() -> Contestant:
    """Run the three matrix products of one step by PyTorch's library; every version of the cell contains them."""
    import torch

    z, deltas = torch.randn(_BATCH, _STATE + _INPUTS), torch.randn(_BATCH, 3 * _STATE)
    weights, bias = torch.randn(3 * _STATE, _STATE + _INPUTS), torch.randn(3 * _STATE)
    statement = "addmm(bias, z, weights.t()); mm(deltas, weights); mm(deltas.t(), z)"
    tensors = {"z": z, "deltas": deltas, "weights": weights, "bias": bias}
    contestant = burst(statement, addmm=torch.addmm, mm=torch.mm, **tensors)

    def run() -> float:
        with _one_thread():
            return contestant()

    return run


@contextmanager
def _one_thread() -> Iterator[None]:
    """Use one thread: the products are small, and threads that spin between turns would slow the others down."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _rows(what: str, statement: str, quick: bool) -> list[Row]:
    import torch

    cells = _cells()
    ours, rivals = cells.kernel_cell(), {"PyTorch from Python": cells.python_cell}
    if not quick:
        rivals["C++ over ATen, autograd.Function"] = _by_hand()
        rivals["C++ over ATen, ob.autograd"] = cells.aten_cell()
        rivals["that as an operator"] = cells.operator_cell()
        rivals["torch.compile"] = torch.compile(cells.python_cell, fullgraph=True)
    reach = {"C++ over ATen, autograd.Function": "1/2"}
    turns = {name: _turn(statement, function) for name, function in rivals.items()}
    times = race({"ours": _turn(statement, ours), **turns}, 5 if quick else 151)
    name = f"LLTM cell on kernel.h, batch {_BATCH}, state {_STATE}, {what}"
    return [Row.relative(name, times["ours"], rival, times[rival], reach.get(rival)) for rival in rivals]


def _turn(statement: str, function: Any) -> Contestant:
    import torch

    generator = torch.Generator().manual_seed(0)
    shapes = ((_BATCH, _INPUTS), (_BATCH, _STATE), (_BATCH, _STATE), (3 * _STATE, _STATE + _INPUTS), (3 * _STATE,))
    arguments = [torch.randn(shape, generator=generator).mul_(0.5).requires_grad_() for shape in shapes]
    grads = tuple(torch.randn(_BATCH, _STATE, generator=generator) for _ in range(2))
    return burst(statement, f=function, a=arguments, g=grads, grad=torch.autograd.grad)


def _by_hand() -> Any:
    """Connect the functions of an extension as PyTorch's documentation does."""
    import torch

    import opbridge as ob

    extension = ob.extension("lltm_aten", sources=[_FOLDER / "lltm_aten.cpp"])

    class Cell(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            new_h, new_c, *kept = extension.forward(*inputs)
            ctx.save_for_backward(new_c, *kept, inputs[3])
            return new_h, new_c

        @staticmethod
        def backward(ctx: Any, grad_h: Any, grad_c: Any) -> Any:
            return extension.backward(grad_h.contiguous(), grad_c.contiguous(), *ctx.saved_tensors)

    return Cell.apply


def _cells() -> Any:
    if str(_FOLDER) not in sys.path:
        sys.path.insert(0, str(_FOLDER))
    import cells

    return cells

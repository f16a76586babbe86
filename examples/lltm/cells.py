"""One cell in four forms: PyTorch from Python, the same from C++, this as an operator, and a separate kernel.

A memory cell without a forget gate: gates from a matrix product over input and state, and a memory that they add to.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

import opbridge as ob

FOLDER = Path(__file__).resolve().parent
Cell = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


def python_cell(x: Tensor, h: Tensor, c: Tensor, weights: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    sums = torch.nn.functional.linear(torch.cat([h, x], dim=1), weights, bias)
    into, out, candidate = sums.chunk(3, dim=1)
    new_c = c + torch.sigmoid(into) * torch.nn.functional.elu(candidate)
    return torch.sigmoid(out) * torch.tanh(new_c), new_c


INPUTS = ("x", "h", "c", "weights", "bias")
SAVED = ("new_c", "into", "out", "candidate", "z", "weights")


@cache
def aten_cell() -> Cell:
    """Return the two outputs of the cell; the other outputs of the extension's `forward` are for `backward`."""
    extension = ob.extension("lltm_aten", sources=[FOLDER / "lltm_aten.cpp"])
    return ob.autograd(
        forward=extension.forward,
        backward=extension.backward,
        inputs=INPUTS,
        outputs=("new_h", "new_c"),
        saved=SAVED,
    )


@cache
def operator_cell() -> Cell:
    """Return the same as an operator, `torch.ops.examples.lltm_aten`, for torch.compile and torch.export."""
    extension = ob.extension("lltm_aten", sources=[FOLDER / "lltm_aten.cpp"])
    returns = ", ".join(f"Tensor {name}" for name in ("new_h", "new_c", *SAVED[1:5]))
    return ob.autograd(
        forward=extension.forward,
        backward=extension.backward,
        outputs=("new_h", "new_c"),
        saved=SAVED,
        schema=f"examples::lltm_aten({', '.join(f'Tensor {name}' for name in INPUTS)}) -> ({returns})",
        out=["h", "c", "h", "h", "h", {"shape": "[h.shape[0], weights.shape[1]]", "dtype": "h.dtype"}],
    )


@cache
def kernel_cell() -> Cell:
    operator = ob.load(FOLDER / "ops.yaml").lltm

    def cell(x: Tensor, h: Tensor, c: Tensor, weights: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        new_h, new_c, _ = operator(x, h, c, weights, bias)
        return new_h, new_c

    return cell

"""Run a PyTorch CUDA extension on a GPU or, without one, in the CUDA twin."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import torch
from torch import Tensor

import opbridge as ob

FOLDER = Path(__file__).resolve().parent
HAS_GPU = torch.cuda.is_available()
DEVICE = "cuda" if HAS_GPU else "cpu"

extension = ob.extension(
    "gated_cell",
    sources=[FOLDER / "cell.cpp", FOLDER / "cell_kernel.cu"],
    device="cuda" if HAS_GPU else "cuda-twin",
)


class Cell(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, state, weights, bias):
        new_state, keep, proposal, joined = extension.forward(input, state, weights, bias)
        ctx.save_for_backward(keep, proposal, joined, state, weights)
        return new_state

    @staticmethod
    def backward(ctx, grad):
        return tuple(extension.backward(grad.contiguous(), *ctx.saved_tensors))


def python_cell(input: Tensor, state: Tensor, weights: Tensor, bias: Tensor) -> Tensor:
    keep, proposal = torch.nn.functional.linear(torch.cat([input, state], 1), weights, bias).chunk(2, 1)
    keep, proposal = torch.sigmoid(keep), torch.tanh(proposal)
    return keep * state + (1 - keep) * proposal


def inputs(rows: int, features: int, units: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, ...]:
    shapes = ((rows, features), (rows, units), (2 * units, features + units), (2 * units,))
    return tuple(torch.randn(shape, dtype=dtype, device=DEVICE, requires_grad=True) for shape in shapes)


def main() -> None:
    torch.manual_seed(0)
    large = inputs(16, 32, 200, torch.float32)
    torch.testing.assert_close(Cell.apply(*large), python_cell(*large), rtol=1e-4, atol=1e-5)
    print("forward agrees with Python, float32, 16 x 200")
    small = inputs(3, 4, 5)
    assert torch.autograd.gradcheck(Cell.apply, small)
    print("backward agrees with the numeric gradient, float64")
    if not HAS_GPU:
        show_a_broken_kernel()


def show_a_broken_kernel() -> None:
    """Show the report for a common mistake, which on a GPU gives a wrong number somewhere else."""
    with tempfile.TemporaryDirectory() as folder:
        wrapper, kernel = (Path(shutil.copy(FOLDER / name, folder)) for name in ("cell.cpp", "cell_kernel.cu"))
        kernel.write_text(kernel.read_text().replace("unit >= state.size(1)", "unit > state.size(1)"))
        module = ob.extension("broken_cell", sources=[wrapper, kernel], device="cuda-twin")
    try:
        module.forward(*inputs(1, 4, 5))
    except RuntimeError as error:
        report = str(error).partition("out of bounds")[2]
        print("with > instead of >= the twin reports: out of bounds", *report.splitlines()[:4], sep="\n")
    else:
        raise AssertionError("the broken kernel went unnoticed")


if __name__ == "__main__":
    main()

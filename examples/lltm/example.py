"""Train a layer of the cell to remember, once for each form of the cell; the losses are equal."""

from __future__ import annotations

import cells
import torch
from torch import Tensor

import opbridge as ob

INPUTS, STATE, BATCH, LENGTH, STEPS = 4, 32, 16, 6, 40


def layer_of(cell: cells.Cell) -> type[torch.nn.Module]:
    """Make a module class: weights and bias become parameters; x, h and c stay arguments."""

    def sizes(inputs: int, state: int) -> dict[str, tuple[int, ...]]:
        return {"weights": (3 * state, state + inputs), "bias": (3 * state,)}

    return ob.module(cell, name="Layer", parameters=sizes)


def train(cell: cells.Cell, compiled: bool = False) -> list[float]:
    torch.manual_seed(0)
    layer = layer_of(cell)(inputs=INPUTS, state=STATE)
    readout = torch.nn.Linear(STATE, INPUTS)
    step = torch.compile(layer, fullgraph=True, backend="aot_eager") if compiled else layer
    optimizer = torch.optim.Adam([*layer.parameters(), *readout.parameters()], lr=0.02)
    sequence = torch.randn(LENGTH, BATCH, INPUTS)

    def loss_of(sequence: Tensor) -> Tensor:
        h = c = torch.zeros(BATCH, STATE)
        for x in sequence:
            h, c = step(x, h, c)
        return torch.nn.functional.mse_loss(readout(h), sequence[0])

    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(sequence)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


small = [
    torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in ((3, 2), (3, 5), (3, 5), (15, 7), (15,))
]
assert all(torch.autograd.gradcheck(cell, small) for cell in (cells.aten_cell(), cells.kernel_cell()))

ways = {
    "PyTorch from Python": train(cells.python_cell),
    "C++ over ATen, ob.autograd": train(cells.aten_cell()),
    "the same as an operator, compiled": train(cells.operator_cell(), compiled=True),
    "C++ on kernel.h": train(cells.kernel_cell()),
    "the same, compiled": train(cells.kernel_cell(), compiled=True),
}
expected = ways["PyTorch from Python"]
for way, losses in ways.items():
    print(f"{way:36} loss {losses[0]:.4f} -> {losses[-1]:.4f}")
    torch.testing.assert_close(torch.tensor(losses), torch.tensor(expected), rtol=1e-3, atol=1e-4)
assert expected[-1] < 0.5 * expected[0]

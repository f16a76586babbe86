"""Arguments of PyTorch's recurrent operators, for the tests of each framework's forms."""

from __future__ import annotations

from typing import Any

import torch


def drawn(*sizes: int) -> torch.Tensor:
    return torch.randn(sizes, generator=torch.Generator().manual_seed(sum(sizes))).requires_grad_()


def recurrent(gates: int, *, layers: int = 1, directions: int = 1, biases: bool = True) -> dict[str, Any]:
    sizes = [[(gates * 3, 4 if not layer else 3 * directions), (gates * 3, 3)] for layer in range(layers)]
    of_layer = [[*pair, *[(gates * 3,)] * 2 * biases] for pair in sizes for _ in range(directions)]
    states = [drawn(layers * directions, 2, 3) for _ in range(2)]
    return {
        "input": drawn(2, 5, 4),
        "hx": states if gates == 4 else states[0],
        "params": [drawn(*size) for each in of_layer for size in each],
        "has_biases": biases,
        "num_layers": layers,
        "dropout": 0.0,
        "train": False,
        "bidirectional": directions == 2,
        "batch_first": True,
    }

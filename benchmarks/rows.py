"""A norm, a softmax and a loss over the rows of a matrix, forward and with their gradients; every output is new."""

from __future__ import annotations

from calls import KERNELS, compared
from table import Row
from timing import burst, rested

import opbridge as ob

_ROWS, _WIDTH = 4096, 1024


def kernels(quick: bool) -> list[Row]:
    import torch
    from torch.nn import functional

    library = ob.load(KERNELS / "rows.yaml")
    x, weight, bias, grad = torch.randn(_ROWS, _WIDTH), torch.randn(_WIDTH), torch.randn(_WIDTH), torch.ones(())
    target = torch.randint(0, _WIDTH, (_ROWS,))
    pairs = {
        "layer_norm": (
            lambda x, weight, bias: library.layer_norm(x, weight, bias)[0],
            lambda x, weight, bias: functional.layer_norm(x, (_WIDTH,), weight, bias),
            *([x, weight, bias], torch.randn_like(x)),
        ),
        "softmax": (library.softmax, lambda x: functional.softmax(x, -1), [x], torch.randn_like(x)),
        "cross_entropy": (
            lambda x: library.cross_entropy(x, target)[0],
            lambda x: functional.cross_entropy(x, target),
            *([x], grad),
        ),
    }
    rows = []
    for what, (ours, theirs, inputs, grad) in pairs.items():
        learned = [value.clone().requires_grad_() for value in inputs]
        names = {"inputs": learned, "grad": grad, "gradients": torch.autograd.grad}
        for way, statement, values in (
            ("forward", "f(*x)", inputs),
            ("forward and backward", "gradients(f(*inputs), inputs, grad)", learned),
        ):
            entrants, rivals = (
                {name: rested(burst(statement, f=f, x=values, **names))}
                for name, f in (("op", ours), ("PyTorch's", theirs))
            )
            title = f"{what} of {_ROWS} x {_WIDTH} floats, {way}"
            rows += compared(title, entrants, rivals, {"PyTorch's": "1.1"}, quick, rounds=31)
    return rows

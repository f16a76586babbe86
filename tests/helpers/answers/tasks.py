"""Tasks of several kinds, by name."""

from __future__ import annotations

import textwrap

_HEAD = """
import torch
import torch.nn as nn


class Model(nn.Module):
"""
_TAIL = """

def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return [{initial}]
"""


def _task(body: str, sizes: str, shape: str, initial: str = "", inputs: str = "torch.rand({shape})") -> str:
    return (
        _HEAD
        + textwrap.indent(textwrap.dedent(body).strip(), "    ")
        + f"\n\n\n{sizes}\n"
        + _TAIL.format(inputs=inputs.format(shape=shape), initial=initial)
    )


_TWO_SIZES = "batch = 16\ndim = 2048"
_SCALED = "def __init__(self, scale):\n    super().__init__()\n    self.scale = scale\n"
TASKS = {
    "relu": _task(
        _SCALED + "def forward(self, x):\n    return torch.relu(x) * self.scale", _TWO_SIZES, "batch, dim", "2.0"
    ),
    "linear": _task(
        "def __init__(self, n):\n    super().__init__()\n    self.linear = nn.Linear(n, n)\n"
        "def forward(self, x):\n    return torch.tanh(self.linear(x))",
        "batch = 32\ndim = 128",
        "batch, dim",
        "dim",
    ),
    "norm": _task(
        "def __init__(self, n):\n    super().__init__()\n    self.norm = nn.BatchNorm1d(n)\n"
        "def forward(self, x):\n    return torch.relu(self.norm(x))",
        "batch = 64\ndim = 256",
        "batch, dim",
        "dim",
    ),
    "product": _task("def forward(self, a):\n    return a @ a", "n = 128", "n, n"),
    "diagonal": _task("def forward(self, a):\n    return torch.diag(a[0]) @ a", "n = 128", "n, n"),
    "softmax": _task("def forward(self, x):\n    return torch.softmax(x, dim=1)", _TWO_SIZES, "batch, dim"),
    "sum": _task("def forward(self, x):\n    return x.sum(dim=1)", _TWO_SIZES, "batch, dim"),
    "two": _task("def forward(self, x):\n    return torch.relu(x), torch.relu(-x)", _TWO_SIZES, "batch, dim"),
    "half": _task("def forward(self, x):\n    return torch.relu(x.half()) * 3", _TWO_SIZES, "batch, dim"),
    "largest": _task(
        "def forward(self, x):\n    return x.argmax(dim=1)",
        _TWO_SIZES,
        "batch, dim",
        "",
        "torch.randint(0, 10, ({shape}))",
    ),
    "count": _task("def forward(self, x):\n    return (x > 0.5).sum(dim=1)", _TWO_SIZES, "batch, dim"),
    "mask": _task("def forward(self, x):\n    return torch.relu(x - 0.5) > 0", _TWO_SIZES, "batch, dim"),
    "logarithm": _task("def forward(self, x):\n    return torch.log(torch.relu(x - 0.5))", _TWO_SIZES, "batch, dim"),
    "mean": _task("def forward(self, x):\n    return x.mean()", _TWO_SIZES, "batch, dim"),
}
"""References by name."""

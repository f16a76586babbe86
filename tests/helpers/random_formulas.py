"""Formulas that nobody wrote, and what is held of each: its value, and its gradient by differences of that."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import torch
from tests.helpers.formula_library import formula_library, torch_value

from opbridge.op import Op

_ONE = ("sigmoid", "tanh", "sin", "cos", "square", "erf", "atan", "abs", "-", "relu", "softplus", "asinh", "silu")
_REDUCTIONS = ("sum", "mean", "logsumexp", "var", "max", "min")
_FORMS = (
    "{one}({a})",
    "({a} {op} {b})",
    "({a} / (1.5 + square({b})))",
    "where({a} > {b} * 0.9, {a}, {c})",
    "maximum({a}, {b} * x)",
    "minimum({a}, {b} + y)",
    "clip({a}, -0.7, 0.8)",
    "atan2({a}, 1.1 + square({b}))",
    "{reduction}(x * y + {a}, -1, keepdim=True)",
    "cumsum(x * y + {a}, -1)",
)
_STEP = 1e-6


def random_formula(draw: Random) -> str:
    return f"{_part(draw, draw.randint(1, 4))} + x * y"


def _part(draw: Random, depth: int) -> str:
    if depth == 0:
        return draw.choice(("x", "y", "x", "a", "2", "0.5"))
    a, b, c = (_part(draw, draw.randrange(depth)) for _ in range(3))
    words = {"one": draw.choice(_ONE), "op": draw.choice("+-*"), "reduction": draw.choice(_REDUCTIONS)}
    return draw.choice(_FORMS).format(a=a, b=b, c=c, **words)


def hold_random_formulas(seed: int, count: int) -> None:
    """Compiles so many formulas in double precision, and differentiates each along a random direction."""
    draw = Random(seed)
    texts = {f"f{place}": random_formula(draw) for place in range(count)}
    schemas = {f"random{seed}::{name}(Tensor x, Tensor y, *, float a=0.7) -> Tensor": texts[name] for name in texts}
    lib = formula_library(schemas)
    for place, (name, text) in enumerate(texts.items()):
        _hold(lib[name], text, torch.Generator().manual_seed(seed * 1000 + place))


def _hold(op: Op, text: str, generator: torch.Generator) -> None:
    shapes = ((3, 4), (4,), (3, 4), (4,), (3, 4))
    x, y, to_x, to_y, grad = (torch.randn(shape, dtype=torch.double, generator=generator) for shape in shapes)
    torch.testing.assert_close(op(x, y), torch_value(text, {"x": x, "y": y, "a": 0.7}), msg=_told(text))
    ahead, behind = (op(x + step * to_x, y + step * to_y) for step in (_STEP, -_STEP))
    expected = (grad * (ahead - behind)).sum() / (2 * _STEP)
    inputs = (x.requires_grad_(), y.requires_grad_())
    found = torch.autograd.grad(op(*inputs), inputs, grad)
    got = sum((one * to).sum() for one, to in zip(found, (to_x, to_y), strict=True))
    torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-6, msg=_told(text))


def _told(text: str) -> Callable[[str], str]:
    return lambda message: f"{text}\n{message}"

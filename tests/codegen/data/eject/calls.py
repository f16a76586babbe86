"""Calls of the operators of tests/kernels and the examples, made by whoever registered them: results or errors.

python calls.py opbridge MANIFEST RESULTS.pt NAME...
python calls.py ejected LIBRARY RESULTS.pt NAME...
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch.autograd import forward_ad

warnings.simplefilter("ignore", DeprecationWarning)  # PyTorch's forward mode says so of itself

if sys.argv[1] == "opbridge":
    import opbridge as ob

    for op in ob.load(Path(sys.argv[2])):
        op.torch.default if hasattr(op.torch, "default") else op.torch
else:
    torch.ops.load_library(sys.argv[2])


class Operator:
    """An operator of whichever are there, looked up by a call."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return getattr(torch.ops.obtest, self._name)(*arguments, **named)

    def out(self, *arguments: Any, **named: Any) -> Any:
        return getattr(torch.ops.obtest, self._name).out(*arguments, **named)


class Operators:
    def __getattr__(self, name: str) -> Operator:
        return Operator(name)


ops = Operators()


def numbers(*shape: int, dtype: torch.dtype = torch.float64, start: int = 1) -> torch.Tensor:
    count = torch.Size(shape).numel()
    made = torch.arange(start, start + count, dtype=torch.float64).reshape(shape).cos()
    return (made * (1 + 0.5j)).to(dtype) if dtype.is_complex else made.to(dtype)


x, y, z = numbers(2, 3), numbers(2, 3, start=7), numbers(3, start=2)
f = x.float()

RESULTS: dict[str, Callable[[], Any]] = {
    "identity": lambda: ops.identity(x),
    "of a transposed tensor": lambda: ops.scaled_add(x.t(), y.t(), alpha=0.5),
    "of an empty tensor": lambda: ops.scaled_add(x[:0], y[:0]),
    "float32": lambda: ops.scaled_add(x.float(), y.float()),
    "several results": lambda: ops.sine_cosine(x),
    "in place": lambda: ops.scaled_add_(x.clone(), y, alpha=2.0),
    "in place on a part": lambda: _written(lambda t: ops.square_(t[:, :2])),
    "into an out tensor": lambda: ops.scaled_add.out(x, y, out=torch.empty_like(x)),
    "swap": lambda: _swapped(),
    "attributes by default": lambda: ops.attributes(x),
    "attributes": lambda: ops.attributes(
        x, 5, 1.5, flag=False, text="six six", pair=[3, 4], reals=[0.5, 2.5], flags=[True, False], type=torch.int32,
        maybe=9, number=2.5,
    ),
    "a missing tensor": lambda: ops.add_bias(x),
    "an optional tensor": lambda: ops.add_bias(x, z),
    "a list of tensors": lambda: ops.weighted_sum([x, y], [0.5, 2.0]),
    "a list with holes": lambda: ops.sum_present(x, [None, y, None]),
    "a missing list": lambda: ops.count_tensors(f),
    "an optional list": lambda: ops.count_tensors(f, [f, f]),
    "a missing number": lambda: ops.number_or_nan(f),
    "an optional number": lambda: ops.number_or_nan(f, 3),
    "no tensor": lambda: ops.count_up(4, start=0.5),
    "nothing returned": lambda: ops.note(x),
    "matrix product": lambda: ops.matrix_product(x, y.t()),
    "broadcast": lambda: ops.broadcast_add(x, z),
    "promoted": lambda: ops.broadcast_add(x.float(), z.float()),
    "windows": lambda: ops.windows(x, 2),
    "windows with a step": lambda: ops.windows(numbers(2, 7), 3, 2),
    "pile": lambda: ops.pile([x, y]),
    "largest": lambda: ops.largest(x),
    "kernels of one name": lambda: (ops.first_answer(f[0, :1]), ops.second_answer(f[0, :1])),
    "rms_norm": lambda: ops.rms_norm(x, z),
    "lltm": lambda: ops.lltm(*_cell()),
    "a formula": lambda: (ops.normed(x, z), ops.normed(x.half().t(), y.half().t(), 0.1)),
    "on meta tensors": lambda: [t.shape for t in (ops.windows(x.to("meta"), 2), ops.pile([x.to("meta")]))],
}  # fmt: skip

ERRORS: dict[str, Callable[[], Any]] = {
    "a kernel throws": lambda: ops.throws(f),
    "a kernel throws a number": lambda: ops.throws_number(f),
    "a kernel returns seven": lambda: ops.returns_seven(f),
    "a kernel's check": lambda: ops.checks(f),
    "a bare kernel returns seven": lambda: ops.bare_returns_seven(f),
    "a bare kernel throws": lambda: ops.bare_throws(f),
    "a dtype that no kernel has": lambda: ops.scaled_add(x.to(torch.int8), y.to(torch.int8)),
    "unequal shapes": lambda: ops.scaled_add(x, z),
    "shapes that do not broadcast": lambda: ops.broadcast_add(x, numbers(4)),
    "a negative size": lambda: ops.windows(x, 9),
    "division by zero": lambda: ops.windows(x, 2, 0),
    "an index out of range": lambda: ops.matrix_product(z, z),
    "an empty list": lambda: ops.pile([]),
    "a sparse tensor": lambda: ops.identity(x.to_sparse()),
    "a complex number": lambda: ops.attributes(x, number=1j),
    "memory written and read": lambda: ops.scaled_add_(*2 * [x.clone()]),
    "memory written twice": lambda: ops.square_(torch.ones(1).expand(3)),
    "no derivative": lambda: ops.opaque(_leaf(x), y).sum().backward(),
    "no derivative for one argument": lambda: ops.half_known(x, _leaf(y)).sum().backward(),
    "a derivative once": lambda: _second_derivative(ops.square),
    "a write without return": lambda: ops.scaled_add_quietly_(_leaf(x).clone(), y),
    "a write to a leaf": lambda: ops.square_(_leaf(x)),
}

DERIVATIVES: dict[str, tuple[Callable[..., Any], list[torch.Tensor]]] = {
    "formulas": (ops.product, [x, y]),
    "complex formulas": (ops.product, [numbers(3, dtype=torch.complex128), numbers(3, dtype=torch.complex128)]),
    "an attribute": (lambda a, b: ops.scaled_add(a, b, alpha=0.3), [x, y]),
    "a backward operator": (ops.fused_product, [x, y]),
    "gradients by name": (ops.sine_cosine, [x]),
    "one of the results": (lambda a: ops.sine_cosine(a)[1], [x]),
    "a kept result": (ops.exponential, [x]),
    "in place": (lambda a, b: ops.scaled_add_(a.clone(), b, alpha=2.0), [x, y]),
    "in place, of the value before": (lambda a: ops.square_(a.clone()), [x]),
    "a missing tensor": (ops.add_bias, [x]),
    "an optional tensor": (ops.add_bias, [x, z]),
    "a list with holes": (lambda a: ops.sum_present(a, [None, y]), [x]),
    "a list": (lambda a, b: ops.pile([a, b]), [x, y]),
    "transposes": (ops.matrix_product, [x, y.t().contiguous()]),
    "indices": (ops.row_sums, [x]),
    "a broadcast argument": (ops.broadcast_add, [x, z]),
    "half of the arguments": (lambda a: ops.half_known(a, y), [x]),
    "functions of one array": (ops.unary_functions, [x, y]),
    "functions of two arrays": (ops.binary_functions, [x, y]),
    "reductions": (ops.reductions, [x, y]),
    "functions of shapes": (ops.shapes, [x, y]),
    "a formula's own": (ops.normed, [x, z]),
    "a formula of zeros": (lambda a: ops.call_depth(a) + a, [f]),
}
# Of formulas that are no derivative, and one whose tangent opbridge does not find.
NOT_LINEAR = (
    "functions of one array",
    "functions of two arrays",
    "reductions",
    "functions of shapes",
)
TWICE = (
    "formulas",
    "complex formulas",
    "a backward operator",
    "gradients by name",
    "a kept result",
    "transposes",
    "a formula's own",
)


def _leaf(t: torch.Tensor) -> torch.Tensor:
    return t.clone().requires_grad_()


def _written(write: Callable[[torch.Tensor], Any]) -> torch.Tensor:
    whole = x.clone()
    write(whole)
    return whole


def _swapped() -> list[torch.Tensor]:
    both = [x.clone(), y.clone()]
    ops.swap_(*both)
    return both


def _cell() -> list[torch.Tensor]:
    return [numbers(2, 3), numbers(2, 4), numbers(2, 4, start=3), numbers(12, 7), numbers(12, start=5)]


def _gradients(function: Callable[..., Any], inputs: list[torch.Tensor], **how: bool) -> list[torch.Tensor | None]:
    leaves = [_leaf(t) for t in inputs]
    results = function(*leaves)
    results = [t for t in (results if isinstance(results, tuple) else [results]) if t.requires_grad]
    weights = [torch.full_like(t, 0.5) for t in results]
    return list(torch.autograd.grad(results, leaves, weights, allow_unused=True, **how))


def _twice(function: Callable[..., Any], inputs: list[torch.Tensor]) -> list[torch.Tensor | None]:
    return _gradients(lambda *leaves: tuple(_first(function, leaves)), inputs)


def _first(function: Callable[..., Any], leaves: tuple[torch.Tensor, ...]) -> Iterator[torch.Tensor]:
    results = function(*leaves)
    results = results if isinstance(results, tuple) else (results,)
    gradients = torch.autograd.grad(results, leaves, [t.detach() for t in results], create_graph=True)
    return (gradient for gradient in gradients if gradient is not None)


def _second_derivative(function: Callable[..., Any]) -> Any:
    return _twice(function, [x])


def _forward(function: Callable[..., Any], inputs: list[torch.Tensor]) -> list[torch.Tensor | None]:
    with forward_ad.dual_level():
        results = function(*(forward_ad.make_dual(t.clone(), torch.full_like(t, 0.5)) for t in inputs))
        results = results if isinstance(results, tuple) else (results,)
        return [forward_ad.unpack_dual(t).tangent for t in results]


def _said(call: Callable[[], Any]) -> str:
    try:
        call()
    except Exception as error:
        return str(error).splitlines()[0]
    return "no error"


def calls() -> dict[str, Callable[[], Any]]:
    made = {f"result: {name}": call for name, call in RESULTS.items()}
    made |= {f"error: {name}": partial(_said, call) for name, call in ERRORS.items()}
    for name, (function, inputs) in DERIVATIVES.items():
        made[f"gradient: {name}"] = partial(_gradients, function, inputs)
        if name not in NOT_LINEAR:
            made[f"tangent: {name}"] = partial(_forward, function, inputs)
    made |= {f"second derivative: {name}": partial(_twice, *DERIVATIVES[name]) for name in TWICE}
    return made


if __name__ == "__main__":
    known = calls()
    torch.save({name: known[name]() for name in sys.argv[4:]}, sys.argv[3])

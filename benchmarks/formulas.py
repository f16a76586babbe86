"""Compare formulas with torch.compile of the same PyTorch operators, and with a copy of the same bytes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from formula_cases import Case, cases
from table import Row
from timing import Spread, burst, race, ratios, rested

import opbridge as ob

_FORWARD, _BOTH = "forward", "forward and backward"
_ARGUMENTS = "xyzw"


def kernels(quick: bool) -> list[Row]:
    """Measure each formula by itself, and all of them together."""
    rows, means = [], {}
    for case in cases()[:: 8 if quick else 1]:
        for way, row, to_copy in _measured(case, quick):
            rows.append(row)
            means.setdefault((way, "torch.compile"), []).append(row.ratio.median)
            if case.is_elementwise and way == _FORWARD:
                means.setdefault((way, "a copy"), []).append(to_copy)
    reach = {"torch.compile": Fraction("0.9"), "a copy": Fraction("1.1")}
    return rows + [together(way, peer, found, reach[peer]) for (way, peer), found in means.items()]


def compiling(quick: bool) -> list[Row]:
    """Measure the time from a new text, which no cache contains, to the end of the first call."""
    import torch

    x, seconds = torch.randn(64), []
    _operator("warm(Tensor x) -> Tensor", "x")(x)
    for turn in range(1 if quick else 9):
        # A number that no earlier formula contains.
        text = f"x * sigmoid({1 + time.time_ns() % 10**9 / 1e9} * x)"
        started = time.perf_counter()
        _operator(f"first{turn}(Tensor x) -> Tensor", text)(x)
        seconds.append(time.perf_counter() - started)
    return [Row.absolute("a formula's text to its first call", Spread.of(seconds), "0.5")]


def _operator(signature: str, text: str) -> Any:
    return ob.formula(f"opbridge_bench_formulas::{signature}", text)


def _measured(case: Case, quick: bool) -> list[tuple[str, Row, float]]:
    import torch

    torch._dynamo.reset()
    ours, theirs = formula(case), torch.compile(case.torch, dynamic=False)
    values = [torch.randn(shape) for shape in case.shapes]
    if case.is_positive:
        values = [value.abs() + 0.1 for value in values]
    expected, got = case.torch(*values), ours(*values)
    torch.testing.assert_close(got, expected, rtol=1e-3, atol=1e-4)
    moved = sum(value.numel() for value in (*values, *(got if isinstance(got, tuple) else (got,)))) // 2
    copied = torch.randn(max(moved, 1))
    found = [_raced(case, _FORWARD, "f(*x)", (ours, theirs), {"x": values}, copied, quick)]
    if case.is_learned:
        learned = [value.clone().requires_grad_() for value in values]
        names = {"x": learned, "grad": torch.randn_like(expected), "gradients": torch.autograd.grad}
        found.append(_raced(case, _BOTH, "gradients(f(*x), x, grad)", (ours, theirs), names, copied, quick))
    return found


def formula(case: Case) -> Callable[..., Any]:
    arguments = ", ".join(f"Tensor {name}" for name in _ARGUMENTS[: len(case.shapes)])
    returns = "Tensor" if case.outputs == 1 else f"({', '.join(['Tensor'] * case.outputs)})"
    return _operator(f"{case.name.replace(' ', '_').replace(',', '')}({arguments}) -> {returns}", case.formula)


def _raced(
    case: Case, way: str, statement: str, functions: Sequence[Any], names: dict[str, Any], copied: Any, quick: bool
) -> tuple[str, Row, float]:
    contestants = {
        name: rested(burst(statement, f=f, **names)) for name, f in zip(("ours", "theirs"), functions, strict=True)
    }
    copy = {"copy": rested(burst("x.clone()", x=copied))}
    times = race({**contestants, **copy}, rounds=5 if quick else 15)
    row = Row.relative(f"formula: {case.name}, {way}", times["ours"], "torch.compile", times["theirs"], None)
    return way, row, ratios(times["ours"], times["copy"]).median


def together(way: str, peer: str, found: list[float], reach: Fraction | None) -> Row:
    mean = statistics.geometric_mean(found)
    spread = Spread(mean, *statistics.quantiles(found, n=4, method="inclusive")[::2])
    return Row(f"formulas: the geometric mean of {len(found)}, {way}", spread, "x", peer, None, spread, reach)

"""Where a formula and PyTorch's own operators differ, in value and in gradients of both orders, at any numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from tests.helpers.formula_library import torch_value

from opbridge.base.errors import UnsupportedError

inf, nan = float("inf"), float("nan")
EDGES = (0.0, -0.0, 1.0, -1.0, inf, -inf, nan, 2.5, -2.5, 0.5, -0.5, 3.0, 20.5, -30.0, 88.9, -88.9, -104.0, 1e-42, 1e30)
_LARGEST, _LEAST = 1e10, 1e-10
"""Of what is squared and divided by in second derivatives."""
_DOCUMENT = Path(__file__).parents[2] / "docs" / "formula.md"
_SEED = 0.75
_SECOND = " in that of "

Tensors = Sequence[torch.Tensor]


@dataclass(frozen=True)
class Difference:
    text: str
    what: str
    at: tuple[float, ...]
    ours: float
    theirs: float

    def __str__(self) -> str:
        at = ", ".join(f"{value:.6g}" for value in self.at)
        return f"{self.text}: {self.what} at ({at}) is {self.ours:.9g}, and {self.theirs:.9g} in PyTorch"


def documented() -> set[str]:
    """The functions of which docs/formula.md says that PyTorch has another value."""
    section = _DOCUMENT.read_text("utf-8").partition("### Differences from PyTorch")[2].partition("\n#")[0]
    rows = re.findall(r"^\| (`[^|]*) \|", section, re.MULTILINE)
    return {name for row in rows for names in re.findall(r"`([^`]*)`", row) for name in names.split()}


def pairs(dtype: torch.dtype) -> list[torch.Tensor]:
    """Every edge beside every edge."""
    line = torch.tensor(EDGES, dtype=torch.float64).to(dtype)
    return [each.reshape(-1).clone() for each in torch.meshgrid(line, line, indexing="ij")]


def differences(
    op: Callable[..., Any],
    text: str,
    inputs: Tensors,
    tolerance: float,
    attributes: Mapping[str, float] = MappingProxyType({}),
    least: float = 1e-40,
) -> Iterator[Difference]:
    """Of values and gradients; `inputs` are x and y, as far as the formula has them.

    `tolerance` is a share of a value, and of 1 in second derivatives, which are sums whose parts may cancel; `least` is
    what any value may be off by.
    """
    ours = _with_gradients(op, inputs)
    theirs = dict(_with_gradients(lambda *given: _reference(text, given, attributes), inputs))
    for what, mine in ours:
        other = theirs[what]
        shown = other if mine is None else mine
        if shown is None:
            continue
        mine, other = (torch.zeros_like(shown) if each is None else each.detach() for each in (mine, other))
        assert mine.shape == other.shape, f"{text}: {what} has shape {tuple(mine.shape)}, not {tuple(other.shape)}"
        assert mine.dtype == other.dtype, f"{text}: {what} is {mine.dtype}, not {other.dtype}"
        is_second = _SECOND in what
        bad = ~torch.isclose(mine, other, rtol=tolerance, atol=tolerance if is_second else least, equal_nan=True)
        if is_second and mine.shape == inputs[0].shape:
            bad &= ~_is_singular(theirs, inputs) & other.isfinite()
        yield from _told(text, what, inputs, mine, other, bad)


def differences_of_values(
    text: str, value: torch.Tensor, inputs: Tensors, tolerance: float, least: float = 1e-40
) -> Iterator[Difference]:
    """Of a value alone, in which 0.0 and -0.0 are two numbers."""
    expected = _reference(text, inputs, {})
    assert value.dtype == expected.dtype, f"{text}: the value is {value.dtype}, not {expected.dtype}"
    bad = ~torch.isclose(value, expected, rtol=tolerance, atol=least, equal_nan=True)
    bad |= (value == 0) & (expected == 0) & (value.signbit() != expected.signbit())
    yield from _told(text, "the value", inputs, value, expected, bad)


def _told(
    text: str, what: str, inputs: Tensors, mine: torch.Tensor, other: torch.Tensor, bad: torch.Tensor
) -> Iterator[Difference]:
    is_of_elements = all(each.shape == mine.shape for each in inputs)
    for place in bad.reshape(-1).nonzero().flatten().tolist():
        at = tuple(float(each.reshape(-1)[place]) for each in inputs) if is_of_elements else (float(place),)
        yield Difference(text, what, at, float(mine.reshape(-1)[place]), float(other.reshape(-1)[place]))


def _is_singular(found: Mapping[str, torch.Tensor | None], inputs: Tensors) -> torch.Tensor:
    """Where a first derivative is no number, or an input too large or too small for a second one."""
    first = [each for what, each in found.items() if what in ("the gradient of x", "the gradient of y")]
    bad = [~each.detach().isfinite() for each in first if each is not None and each.shape == inputs[0].shape]
    sizes = [each.abs() for each in inputs if each.shape == inputs[0].shape]
    bad += [(size != 0) & ~((size > _LEAST) & (size < _LARGEST)) for size in sizes]
    return torch.stack(bad).any(0)


def _reference(text: str, given: Tensors, attributes: Mapping[str, float]) -> torch.Tensor:
    """What is narrower than float32 is computed in that, and rounded once."""
    kind = given[0].dtype
    wide = [each.float() if each.dtype in (torch.float16, torch.bfloat16) else each for each in given]
    value = torch_value(text, {**dict(zip("xy", wide, strict=False)), **attributes})
    assert isinstance(value, torch.Tensor)
    return value if "astype" in text or not value.is_floating_point() else value.to(kind)


def _with_gradients(function: Callable[..., Any], inputs: Tensors) -> list[tuple[str, torch.Tensor | None]]:
    given = [_leaf(each) for each in inputs]
    value = function(*given)
    found: list[tuple[str, torch.Tensor | None]] = [("the value", value.detach())]
    names = ["x", "y"][: len(given)]
    first = _gradients(value, given)
    found += [(f"the gradient of {name}", each) for name, each in zip(names, first, strict=True)]
    for name, each in zip(names, first, strict=True):
        try:
            second = [None] * len(given) if each is None else _gradients(each, given)
        except UnsupportedError:
            return found  # of a formula whose second derivative is too long
        found += [(f"the gradient of {other}{_SECOND}{name}", one) for other, one in zip(names, second, strict=True)]
    return found


def _leaf(tensor: torch.Tensor) -> torch.Tensor:
    """A copy with the same strides."""
    copy = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)
    return copy.copy_(tensor).requires_grad_()


def _gradients(value: torch.Tensor, given: Tensors) -> list[torch.Tensor | None]:
    if not value.requires_grad:
        return [None] * len(given)
    seed = torch.full_like(value, _SEED)
    return list(torch.autograd.grad(value, given, seed, create_graph=True, allow_unused=True))

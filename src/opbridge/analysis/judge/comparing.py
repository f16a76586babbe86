"""Compare outputs of an answer with those of the reference, within a multiple of the float32 error of the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from opbridge.analysis.judge.values import Array, arrays_of

_MARGIN = 64.0
"""The allowed error as a multiple of the reference error: an answer may add in another order."""
_ROW = 64
"""The least elements in a row, enough to show how accurately the reference computes it."""
_WELL, _HIDDEN = 2.0**-10, 2.0**-4
"""Errors relative to the size of an element."""
_PRECISION = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


@dataclass(frozen=True)
class Difference:
    """How an output differs from the reference."""

    message: str
    to_do: str
    is_of_numbers: bool = False
    """Whether numbers differ, not shapes or types."""
    is_of_count: bool = False
    """Whether the number of tensors differs, which no input size can change."""


def numbers(array: Array) -> np.ndarray[Any, Any]:
    """Return the array as NumPy numbers; floats become float64."""
    if array.dtype == "bfloat16":
        wide = np.frombuffer(array.data, np.uint16).astype(np.uint32) << 16
        return wide.view(np.float32).astype(np.float64).reshape(array.shape)
    names = {"bool": "bool", "complex64": "complex64", "complex128": "complex128"}
    found = np.frombuffer(array.data, np.dtype(names.get(array.dtype, array.dtype))).reshape(array.shape)
    return found.astype(np.float64) if array.dtype in _PRECISION else found


def difference(answer: object, exact: object, rounded: object, least: float = 0.0) -> Difference | None:
    """Return the first difference from the reference; None if there is none.

    `exact` is the reference in float64, `rounded` in its own element types. Errors up to `least` are always
    allowed.
    """
    if found := difference_of_sizes(answer, rounded):
        return found
    given, wanted, own = arrays_of(answer), arrays_of(exact), arrays_of(rounded)
    for output, one, right, coarse in zip(_outputs(len(given)), given, wanted, own, strict=True):
        if found := _of_numbers(output, one, numbers(right), coarse, least):
            return found
    return None


def difference_of_sizes(answer: object, reference: object) -> Difference | None:
    """Return the first difference in the number or shapes of tensors; None if there is none."""
    given, wanted = arrays_of(answer), arrays_of(reference)
    if len(given) != len(wanted):
        message = f"it returns {len(given)} tensors instead of {len(wanted)}"
        return Difference(message, "return the same outputs as the reference", is_of_count=True)
    for output, one, right in zip(_outputs(len(given)), given, wanted, strict=True):
        if found := _of_sizes(output, one, right):
            return found
    return None


def _outputs(count: int) -> list[str]:
    return [f"output {number}" for number in range(count)] if count > 1 else ["the output"] * count


def difference_of_gradients(answer: object, exact: object, rounded: object) -> Difference | None:
    """Return the first gradient that differs; None if there is none.

    Gradients are matched by name. An answer may name its parameters differently or have none; those are not
    compared.
    """
    if not (isinstance(answer, dict) and isinstance(exact, dict) and isinstance(rounded, dict)):
        return None
    for name, one in answer.items():
        both = isinstance(exact.get(name), Array) and isinstance(one, Array)
        if not both:
            continue
        gradient, coarse = f"the gradient of {name}", rounded[name]
        if found := _of_sizes(gradient, one, coarse) or _of_numbers(gradient, one, numbers(exact[name]), coarse):
            return found
    return None


def _of_sizes(output: str, given: Array, right: Array) -> Difference | None:
    if given.shape == right.shape:
        return None
    return Difference(f"{output} is {given} instead of {right}", "make it of the reference's shape")


def bound(exact: np.ndarray[Any, Any], coarse: Array) -> np.ndarray[Any, Any]:
    """Return the allowed distance of each element from the float64 result."""
    with np.errstate(all="ignore"):
        lost = np.abs(numbers(coarse) - exact)
        own = _errors(np.where(np.isfinite(lost), lost, 0.0), np.abs(exact))
        return np.asarray(_MARGIN * (own + _PRECISION.get(coarse.dtype, 0.0) * np.abs(exact)) + 1e-30)


def _errors(lost: np.ndarray[Any, Any], sizes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the largest error; for accurate rows that it would hide, the largest error of the row."""
    whole, width = np.max(lost, initial=0.0), 1
    for length in reversed(sizes.shape):
        width *= length if width < _ROW else 1
    if width < _ROW or width == sizes.size:
        return np.asarray(whole)
    largest, typical = lost.reshape(-1, width).max(axis=1), np.median(sizes.reshape(-1, width), axis=1)
    is_hidden = (largest < _WELL * typical) & (_MARGIN * whole > _HIDDEN * typical)
    return np.repeat(np.where(is_hidden, largest, whole), width).reshape(sizes.shape)


def _of_numbers(
    output: str, given: Array, exact: np.ndarray[Any, Any], coarse: Array, least: float = 0.0
) -> Difference | None:
    try:
        got = numbers(given)
    except (TypeError, ValueError):
        return Difference(f"{output} is no tensor of numbers: {given}", "return the same outputs as the reference")
    if exact.size == 0:
        return None
    with np.errstate(all="ignore"):
        parted = np.abs(got.astype(exact.dtype if exact.dtype.kind == "c" else np.float64) - exact)
        allowed = np.broadcast_to(np.maximum(bound(exact, coarse), least), exact.shape)
        fine = (parted <= allowed) | (got == exact) | (np.isnan(got) & np.isnan(exact))
    if fine.all():
        return None
    first = np.unravel_index(int(np.argmin(fine)), exact.shape)
    at = f" at [{', '.join(map(str, first))}]" if exact.ndim else ""
    why = "where all inputs give the same" if least else f"from the reference's own error in {coarse.dtype}"
    return Difference(
        f"{output} is {got[first]:.6g} instead of {exact[first]:.6g}{at}, the first of {int((~fine).sum())} of "
        f"{exact.size} elements that differ; {float(allowed[first]):.2g} is allowed, {why}",
        "compute the same values as the reference for these inputs",
        is_of_numbers=True,
    )


def drawn_otherwise(answer: object, reference: object) -> bool:
    """Return whether the parameters differ from those of the reference, in any order and shapes."""
    given, wanted = (
        np.concatenate([numbers(array).ravel() for array in arrays_of(value)] or [np.empty(0)])
        for value in (answer, reference)
    )
    told = wanted[(wanted != 0) & (wanted != 1)]
    return bool(told.size and given.size and np.isin(told, given).mean() < 0.5)


def same_bits(one: object, other: object) -> bool:
    """Return whether two outputs are equal bit by bit."""
    return [array.data for array in arrays_of(one)] == [array.data for array in arrays_of(other)]

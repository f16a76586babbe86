"""Bound how far a right output may be from the float64 result, by the measured error of the reference itself.

The reference runs in float64 and in its own element types; the difference is its error. An answer may add in another
order, so it is allowed a multiple of that, and rounding to its own type. Half types are rounded from float32 on a GPU
and in the reference alike, so their multiple is small: what would be 64 roundings of a bfloat16 is half of a number.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from opbridge.analysis.judge.values import Array

Numbers: TypeAlias = "np.ndarray[Any, Any]"

PRECISION = {
    "float64": 2.0**-52,
    "complex128": 2.0**-52,
    "float32": 2.0**-23,
    "complex64": 2.0**-23,
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
}
"""The relative distance of neighbouring numbers, by the element type."""
HALVES = ("float16", "bfloat16")
MARGIN, _MARGIN_OF_HALVES = 64.0, 4.0
"""The allowed error as a multiple of the reference error: an answer may add in another order."""
_ROUNDINGS, _ROUNDINGS_OF_HALVES = 2.0, 1.0
"""Units in the last place that are allowed in addition."""
_SMALLEST = {"float16": 2.0**-14, "bfloat16": 2.0**-126, "float32": 2.0**-126}
"""The smallest normal numbers, below which units in the last place stay the same."""
_ROW = 64
"""The least elements in a row, enough to show how accurately the reference computes it."""
_WELL, _HIDDEN = 2.0**-10, 2.0**-4
"""Errors relative to the size of an element."""


def numbers(array: Array) -> Numbers:
    """Return the array as NumPy numbers; floats become float64."""
    if array.dtype == "bfloat16":
        wide = np.frombuffer(array.data, np.uint16).astype(np.uint32) << 16
        return wide.view(np.float32).astype(np.float64).reshape(array.shape)
    found = np.frombuffer(array.data, np.dtype(array.dtype)).reshape(array.shape)
    return found.astype(np.float64) if found.dtype.kind == "f" else found


def is_inexact(array: Numbers) -> bool:
    """Return whether numbers may be rounded: floats and complex numbers, not integers and truth values."""
    return array.dtype.kind in "fc"


def bound(exact: Numbers, coarse: Array) -> Numbers:
    """Return the allowed distance of each element from the float64 result; it is always finite."""
    with np.errstate(all="ignore"):
        size = np.where(np.isfinite(exact), np.abs(exact), 0.0)
        lost = error_of(coarse, exact)
        unit = PRECISION.get(coarse.dtype, 0.0) * np.maximum(size, _SMALLEST.get(coarse.dtype, 0.0))
        if coarse.dtype in HALVES:
            allowed = _of_halves(lost, size, unit)
        else:
            allowed = MARGIN * _errors(lost, size) + _ROUNDINGS * unit
        return np.where(np.isfinite(allowed), allowed, 0.0) + 1e-30


def error_of(coarse: Array, exact: Numbers) -> Numbers:
    """Return the error of the reference at each element; 0 where it is not finite."""
    with np.errstate(all="ignore"):
        lost = np.abs(numbers(coarse) - exact)
        return np.where(np.isfinite(lost), lost, 0.0)


def _of_halves(lost: Numbers, size: Numbers, unit: Numbers) -> Numbers:
    """Return the bound for half types.

    The reference errs by at most its largest error, and by at most its largest error in units of the last place. The
    smaller of both holds everywhere. What float32 loses within a kernel is relative to the largest number.
    """
    in_units = np.max(lost / unit, initial=0.0)
    of_float32 = MARGIN * PRECISION["float32"] / 2 * np.max(size, initial=0.0)
    own = np.minimum(np.max(lost, initial=0.0), in_units * unit)
    return np.asarray(_MARGIN_OF_HALVES * own + _ROUNDINGS_OF_HALVES * unit + of_float32)


def _errors(lost: Numbers, sizes: Numbers) -> Numbers:
    """Return the largest error; for accurate rows that it would hide, the largest error of the row."""
    whole, width = np.max(lost, initial=0.0), 1
    for length in reversed(sizes.shape):
        width *= length if width < _ROW else 1
    if width < _ROW or width == sizes.size:
        return np.asarray(whole)
    largest, typical = lost.reshape(-1, width).max(axis=1), np.median(sizes.reshape(-1, width), axis=1)
    is_hidden = (largest < _WELL * typical) & (MARGIN * whole > _HIDDEN * typical)
    return np.repeat(np.where(is_hidden, largest, whole), width).reshape(sizes.shape)

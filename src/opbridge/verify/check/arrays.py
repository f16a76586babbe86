"""Tensors in a form common to all frameworks: NumPy arrays for any element type, and the distance between them."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opbridge.verify.check.inputs import Case
from opbridge.waist.manifest.samples import TensorSample, Value

TOLERANCES: Mapping[str, float] = {
    "float64": 1e-9,
    "float32": 3e-5,
    "float16": 1e-2,
    "bfloat16": 5e-2,
    "complex128": 1e-9,
    "complex64": 3e-5,
}
"""The tolerated difference relative to the largest value: correct kernels may add in a different order."""


_DIGITS = (6, 9, 12, 17)
"""The numbers of digits to try when showing numbers; the last one distinguishes any two float64 values."""


@dataclass(frozen=True)
class Array:
    """Values in a type that can hold them all (float64 for every float), with the name of their actual type."""

    values: Any
    dtype: str

    @classmethod
    def of(cls, values: object, dtype: str) -> Array:
        """Return an array of values rounded to the type, as a tensor of that type will hold them."""
        return cls(rounded(np.asarray(values), dtype), dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the values."""
        shape: tuple[int, ...] = self.values.shape
        return shape

    @property
    def nbytes(self) -> int:
        """The size in bytes of a tensor of the actual type, not of the values here."""
        bits = self.dtype.lstrip("abcdefghijklmnopqrstuvwxyz")
        return math.prod(self.shape) * int(bits or 8) // 8

    @property
    def is_float(self) -> bool:
        """Whether the actual type is a real or complex float."""
        return "float" in self.dtype or "complex" in self.dtype

    def same_bits(self, other: Array) -> bool:
        """Return whether type and values are equal; NaN equals NaN."""
        return self.dtype == other.dtype and np.array_equal(self.values, other.values, equal_nan=self.is_float)


Argument = Any
"""A tensor as an Array, a list of tensors as a tuple of them, or an attribute."""


def rounded(values: Any, dtype: str) -> object:
    """Return the values rounded to an element type, in a type that NumPy can compute with."""
    if dtype == "bfloat16":
        return _bfloat16(values)
    if dtype.startswith("complex"):
        return values.astype(dtype).astype(np.complex128)
    if "float" in dtype:
        return values.astype(dtype).astype(np.float64)
    return values.astype(dtype)


def _bfloat16(values: Any) -> object:
    """Round to the nearest bfloat16, ties to even; NumPy has no such type."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    even = (bits >> 16) & 1
    near = ((bits + 0x7FFF + even) >> 16 << 16).astype(np.uint32).view(np.float32)
    return near.astype(np.float64).reshape(np.shape(values))


def arguments(case: Case, seed: int) -> dict[str, Argument]:
    """Return the case's arguments with its tensors filled; the same seed gives the same values."""
    generator = np.random.default_rng(seed)
    return {name: _made(value, generator) for name, value in case.arguments.items()}


def _made(value: Value, generator: np.random.Generator) -> Argument:
    if isinstance(value, TensorSample):
        return Array.of(_filled(value, generator), value.dtype)
    return tuple(_made(item, generator) for item in value) if isinstance(value, tuple) else value


def _filled(tensor: TensorSample, generator: np.random.Generator) -> Any:
    if tensor.data is not None:
        return np.asarray(tensor.data).reshape(tensor.shape)
    if tensor.fill is not None:
        return np.full(tensor.shape, tensor.fill)
    if tensor.dtype == "bool":
        return generator.integers(0, 2, tensor.shape).astype(bool)
    if "int" in tensor.dtype:
        low, high = int(tensor.low or 0), int(1 if tensor.high is None else tensor.high)
        return generator.integers(low, high + 1, tensor.shape)
    real = _floats(tensor, generator)
    return real + 1j * _floats(tensor, generator) if tensor.dtype.startswith("complex") else real


def _floats(tensor: TensorSample, generator: np.random.Generator) -> Any:
    if tensor.low is None and tensor.high is None:
        # Avoid values near zero, where operators have kinks and poles.
        return generator.uniform(0.1, 2.0, tensor.shape) * generator.choice((-1.0, 1.0), tensor.shape)
    low = 0.0 if tensor.low is None else tensor.low
    return generator.uniform(low, low + 1.0 if tensor.high is None else tensor.high, tensor.shape)


def distance(got: Array, want: Array) -> float:
    """Return the largest difference relative to the largest expected value; infinite if only one value is finite.

    NaN and infinities are equal only to themselves.
    """
    if got.values.size == 0:
        return 0.0
    ours = got.values.astype(np.complex128 if np.iscomplexobj(got.values) else np.float64)
    theirs = want.values.astype(np.complex128 if np.iscomplexobj(want.values) else np.float64)
    same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    if same.all():
        return 0.0
    if not (np.isfinite(ours) == np.isfinite(theirs)).all():
        return math.inf
    finite = np.isfinite(theirs)
    with np.errstate(invalid="ignore"):
        differences = np.where(same, 0.0, np.abs(ours - theirs))
    scale = float(np.abs(theirs[finite]).max(initial=0.0))
    return float(differences.max()) / max(scale, sys.float_info.min)


def place_of_difference(got: Array, want: Array) -> str:
    """Return a phrase with the place where two arrays of one shape differ most, and both values."""
    with np.errstate(invalid="ignore"):
        ours, theirs = (np.asarray(array.values, dtype=np.complex128) for array in (got, want))
        differences = np.abs(ours - theirs)
    differences = np.where(np.isnan(differences), np.inf, differences)
    differences = np.where((ours == theirs) | (np.isnan(ours) & np.isnan(theirs)), 0.0, differences)
    index = np.unravel_index(int(differences.argmax()), got.shape) if got.shape else ()
    at = f" at [{', '.join(map(str, map(int, index)))}]" if index else ""
    one, other = numbers_told_apart(got.values[index], want.values[index])
    return f"{one} instead of {other}{at}"


def mismatch(got: Sequence[Array], want: Sequence[Array], tolerance: float | None = None) -> str:
    """Return the difference between two results as a verb phrase; empty if there is none.

    The default tolerance is that of each output's element type.
    """
    if len(got) != len(want):
        return f"gives {len(got)} results instead of {len(want)}"
    for number, (ours, theirs) in enumerate(zip(got, want, strict=True)):
        which = f"output {number}: " if len(got) > 1 else ""
        if ours.shape != theirs.shape:
            return f"{which}gives shape {list(ours.shape)} instead of {list(theirs.shape)}"
        allowed = TOLERANCES.get(ours.dtype, 0.0) if tolerance is None else tolerance
        if distance(ours, theirs) > allowed:
            return f"{which}gives {place_of_difference(ours, theirs)}"
    return ""


def largest_distance(got: Sequence[Array], want: Sequence[Array]) -> float:
    """Return the largest distance between corresponding outputs."""
    return max((distance(ours, theirs) for ours, theirs in zip(got, want, strict=True)), default=0.0)


def numbers_told_apart(ours: object, theirs: object) -> tuple[str, str]:
    """Return both numbers as text, with as many digits as needed to see that they differ."""
    for digits in _DIGITS:
        texts = _number(ours, digits), _number(theirs, digits)
        if texts[0] != texts[1]:
            break
    return texts


def _number(value: Any, digits: int) -> str:
    return f"{complex(value):.{digits}g}" if np.iscomplexobj(value) else f"{value:.{digits}g}"

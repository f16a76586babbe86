"""Find where two results differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opbridge.analysis.port.trial import Difference
from opbridge.verify.check.arrays import TOLERANCES, Array, numbers_told_apart


def difference(original: Sequence[Array], port: Sequence[Array], tolerance: float | None) -> Difference | None:
    """Return the first element that differs by more than the tolerance, in the first output that has one.

    The tolerance is relative to the largest finite value of the original; by default it depends on the element
    type. Return None if all outputs agree.
    """
    for number, (theirs, ours) in enumerate(zip(original, port, strict=True)):
        allowed = TOLERANCES.get(theirs.dtype, 0.0) if tolerance is None else tolerance
        wrong = _wrong(theirs.values, ours.values, allowed)
        if wrong.any():
            index = tuple(int(i) for i in np.unravel_index(int(wrong.argmax()), wrong.shape)) if wrong.ndim else ()
            was, became = numbers_told_apart(theirs.values[index], ours.values[index])
            gaps = np.abs(np.subtract(theirs.values, ours.values, dtype=_wide(theirs.values))[wrong])
            largest = float(gaps.max()) if np.isfinite(gaps).all() else None
            return Difference(number, theirs.dtype, index, was, became, int(wrong.sum()), wrong.size, largest)
    return None


def _wrong(original: object, port: object, tolerance: float) -> Any:
    wide = _wide(original)
    theirs: Any = np.asarray(original, dtype=wide)
    ours: Any = np.asarray(port, dtype=wide)
    finite = np.abs(theirs[np.isfinite(theirs)])
    allowed = tolerance * float(finite.max(initial=0.0))
    with np.errstate(invalid="ignore"):
        near = (theirs == ours) | (np.isnan(theirs) & np.isnan(ours)) | (np.abs(theirs - ours) <= allowed)
    return ~near


def _wide(values: Any) -> type:
    if np.iscomplexobj(values):
        return np.complex128
    # 64-bit integers have more digits than a double.
    return np.float64 if values.dtype.kind == "f" else np.longdouble

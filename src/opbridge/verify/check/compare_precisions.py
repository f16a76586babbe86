"""Compare what an operator makes of special values in float32 with what it makes of them in float64."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opbridge.verify.check.arrays import Argument, Array
from opbridge.verify.check.operator_under_test import OperatorUnderTest
from opbridge.verify.check.outcomes import Failure

_WIDEST = float(np.finfo(np.float32).max)


def compare_precisions(
    subject: OperatorUnderTest, given: Mapping[str, Argument], narrow: Sequence[Array], wide: Sequence[Array], what: str
) -> tuple[int, str]:
    """Compare the results in float32, for `given`, with those in float64.

    Return the number of outputs compared, and a note if oneDNN alone makes a difference.  Raise Failure for any other.
    """
    pairs = [(ours, exact) for ours, exact in zip(narrow, wide, strict=True) if _are_comparable(ours, exact)]
    wrong = next((said for ours, exact in pairs if (said := _difference(ours, exact))), "")
    if not wrong:
        return len(pairs), ""
    others = _without_onednn(subject, given)
    if not others or any(_difference(*pair) for pair in zip(others, wide, strict=True) if _are_comparable(*pair)):
        raise Failure(f"{wrong} with {what}: float32 takes another way than float64")
    return len(pairs), f"in float32 oneDNN {wrong} with {what}, and PyTorch's own kernel does not"


def kinds(values: Any) -> Any:
    """Return the kind of each element as a word."""
    real = np.abs(values) if np.iscomplexobj(values) else np.asarray(values, np.float64)
    found = [np.isnan(real), np.isposinf(real), np.isneginf(real)]
    return np.select(found, ["NaN", "infinity", "-infinity"], "a number")


def _are_comparable(narrow: Array, wide: Array) -> bool:
    return narrow.is_float and narrow.shape == wide.shape


def _difference(narrow: Array, wide: Array) -> str:
    """Return the first element that differs in kind; values that float32 cannot hold are not judged."""
    ours, theirs = kinds(narrow.values), kinds(wide.values)
    too_large = np.isfinite(wide.values) & (np.abs(wide.values) > _WIDEST / 2)
    differs = (ours != theirs) & ~too_large
    if not differs.any():
        return ""
    place = int(np.flatnonzero(differs)[0])
    return f"gives {ours.reshape(-1)[place]} instead of {theirs.reshape(-1)[place]} at place {place}"


def _without_onednn(subject: OperatorUnderTest, given: Mapping[str, Argument]) -> list[Array]:
    """Return the results of PyTorch's own kernel, or nothing if the operator does not run in PyTorch.

    PyTorch gives some float32 calls to oneDNN, whose GELU of infinity is NaN (3.12), and infinity for one element.
    """
    if not any(kernel.operator for kernel in subject.spec.kernels):
        return []
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns of its own flags for Intel's GPUs
        with torch.backends.mkldnn.flags(enabled=False):
            return subject.run(given)

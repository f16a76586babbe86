"""The test case of torch_npu programs, which compares NPU results with CPU results within tolerances."""

from __future__ import annotations

import os
import random
import sys
import unittest
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch


class TestCase(unittest.TestCase):
    """A unittest case whose assertions compare tensors on any device."""

    def setUp(self) -> None:
        """Seed the random numbers of PyTorch and Python before each test, by SEED or 666, as torch_npu does."""
        seed = int(os.getenv("SEED", "666"))
        torch.manual_seed(seed)
        random.seed(seed)

    def assertEqual(  # type: ignore[override]  # noqa: N802 - the signature is that of torch_npu
        self,
        first: object,
        second: object,
        prec: float | str | None = None,
        message: str = "",
        allow_inf: bool = False,
        exact_dtype: bool = True,
        *,
        msg: str | None = None,
        **tolerances: float,
    ) -> None:
        """Check that values are equal: tensors, and numbers and tensors in lists, tuples and mappings.

        `prec` is the absolute tolerance; PyTorch's tolerances for tensors apply without it, `rtol` and `atol`. A text
        in its place is the message, as in unittest.
        """
        said = msg or message or (prec if isinstance(prec, str) else None) or None
        if isinstance(prec, (int, float)):
            tolerances = {"rtol": 0.0, "atol": prec} | tolerances
        if isinstance(first, dict) and isinstance(second, dict):
            super().assertEqual(first.keys(), second.keys(), said)  # noqa: PT009
            first, second = [first[key] for key in first], [second[key] for key in first]
        if isinstance(first, (list, tuple)) and isinstance(second, (list, tuple)):
            super().assertEqual(len(first), len(second), said)  # noqa: PT009
            for one, other in zip(first, second, strict=True):
                self.assertEqual(one, other, None, message, allow_inf, exact_dtype, msg=msg, **tolerances)  # noqa: PT009
        elif _is_tensor_with(first, second) or _is_tensor_with(second, first):
            one, other = (torch.as_tensor(value).detach().cpu() for value in (first, second))
            is_exact = exact_dtype and isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor)
            torch.testing.assert_close(one, other, **tolerances, equal_nan=True, check_dtype=is_exact, msg=said)
        elif tolerances and isinstance(first, (int, float)) and isinstance(second, (int, float)):
            torch.testing.assert_close(float(first), float(second), **tolerances, msg=said)
        else:
            super().assertEqual(first, second, said)  # noqa: PT009 - this method refines it

    def assertNotEqual(  # noqa: N802
        self, first: object, second: object, prec: float | None = None, message: str = ""
    ) -> None:
        """Check that assertEqual fails for the values."""
        try:
            self.assertEqual(first, second, prec)  # noqa: PT009
        except AssertionError:
            return
        self.fail(message or f"expected values that differ, got {first!r} twice")

    def assertExpectedInline(self, actual: object, expect: str, skip: int = 0) -> None:  # noqa: N802
        """Check that a value is spelled like the text."""
        self.assertMultiLineEqual(str(actual), expect)  # noqa: PT009

    def assertNotWarn(self, call_fn: Callable[[], object], msg: str = "") -> None:  # noqa: N802
        """Check that a call warns of nothing."""
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            call_fn()
        if said:
            self.fail(msg or f"expected no warning, got {said[0].message}")

    def assertRtolEqual(  # noqa: N802
        self, x: object, y: object, prec: float = 1e-4, prec16: float = 1e-3, auto_trans_dtype: bool = False
    ) -> None:
        """Check that at most a fraction `prec` of the elements differ by more than `prec`.

        An element differs if it exceeds `prec` both absolutely and relatively. float16 uses `prec16` instead of `prec`;
        bfloat16 is compared element by element.
        """
        if isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
            if len(x) != len(y):
                self.fail(f"expected {len(y)} values, got {len(x)}")
            for one, other in zip(x, y, strict=True):
                self.assertRtolEqual(one, other, prec, prec16, auto_trans_dtype)
            return
        got, expected = _on_host(x), _on_host(y)
        if auto_trans_dtype:
            got = got.to(expected.dtype)
        if (got.shape, got.dtype) != (expected.shape, expected.dtype):
            self.fail(
                f"expected {expected.dtype} of shape {list(expected.shape)}, got {got.dtype} of {list(got.shape)}"
            )
        if got.dtype == torch.bfloat16:
            torch.testing.assert_close(got, expected, rtol=prec16, atol=prec16)
            return
        self._assert_few_differ(got.numpy(), expected.numpy(), prec16 if got.dtype == torch.float16 else prec)

    def _assert_few_differ(self, got: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], prec: float) -> None:
        if got.size == 0:
            return
        wide = np.complex128 if np.iscomplexobj(got) else np.float64
        one, other = got.astype(wide), expected.astype(wide)
        same = (one == other) | (np.isnan(one) & np.isnan(other))
        with np.errstate(invalid="ignore", divide="ignore"):
            gap = np.abs(one - other)
            scale = np.maximum(np.abs(one), np.abs(other))
            off = ~same & ~((gap <= prec) | (gap <= prec * scale))
        count = int(off.sum())
        if count > got.size * prec:
            worst = np.unravel_index(np.argmax(np.where(off, np.nan_to_num(gap, nan=np.inf), -1)), got.shape)
            place = ", ".join(map(str, worst))
            self.fail(
                f"{count} of {got.size} elements differ by more than {prec}; the most at [{place}]: "
                f"got {got[worst]}, expected {expected[worst]}"
            )


def _is_tensor_with(value: object, other: object) -> bool:
    """Return whether a value is a tensor, and the other can be compared with one."""
    return isinstance(value, torch.Tensor) and isinstance(other, (torch.Tensor, int, float, complex, np.ndarray))


def _on_host(value: object) -> torch.Tensor:
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().resolve_conj().resolve_neg()
    return torch.as_tensor(value)


def run_tests() -> None:
    """Run the tests of the calling program."""
    unittest.main(argv=sys.argv)

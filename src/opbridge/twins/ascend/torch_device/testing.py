"""The test case of torch_npu programs, which compares NPU results with CPU results within tolerances."""

from __future__ import annotations

import sys
import unittest
from typing import Any

import numpy as np
import torch


class TestCase(unittest.TestCase):
    """A unittest case whose assertions compare tensors on any device."""

    def assertEqual(self, first: Any, second: Any, msg: Any = None, **tolerances: float) -> None:  # noqa: N802
        """Check that tensors are equal within PyTorch's tolerances, or within `rtol` and `atol` if given."""
        if isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor):
            torch.testing.assert_close(first.cpu(), second.cpu(), **tolerances, msg=msg)
        else:
            super().assertEqual(first, second, msg)  # noqa: PT009 - this method refines it

    def assertRtolEqual(  # noqa: N802
        self, x: Any, y: Any, prec: float = 1e-4, prec16: float = 1e-3, auto_trans_dtype: bool = False
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


def _on_host(value: Any) -> torch.Tensor:
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().resolve_conj().resolve_neg()
    return torch.as_tensor(value)


def run_tests() -> None:
    """Run the tests of the calling program."""
    unittest.main(argv=sys.argv)

"""Checks in NumPy, which has no gradients and no batches, and lets a caller bring the memory of outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from opbridge.check.arrays import Array
from opbridge.check.drivers import Driver, NotHere, Span
from opbridge.schema import Schema


def make(device: str) -> Driver:
    return NumpyDriver()


class NumpyDriver(Driver):
    name = "numpy"
    has_gradients = False
    has_batches = False

    def tensor(self, array: Array) -> Any:
        # A copy, so that what an operator writes to its arguments reaches nothing else.
        return np.array(array.values, dtype=self.dtype(array.dtype))

    def array(self, tensor: Any) -> Array:
        return Array.of(np.asarray(tensor), np.asarray(tensor).dtype.name)

    def dtype(self, name: str) -> Any:
        try:
            return np.dtype(name)
        except TypeError:
            if name == "bfloat16":
                return _bfloat16()
            raise NotHere from None

    def gradients(
        self, op: Any, schema: Schema, values: Mapping[str, Any], names: Sequence[str], weights: Sequence[Any]
    ) -> list[Any]:
        raise NotHere

    def layouts(self, array: Array) -> Iterator[tuple[str, Any]]:
        plain = self.tensor(array)
        if plain.ndim > 1:
            yield "transposed", np.ascontiguousarray(plain.T).T
        if plain.ndim > 0:
            yield "every second element", np.repeat(plain, 2, axis=-1)[..., ::2]
            yield "reversed", np.ascontiguousarray(plain[::-1])[::-1]

    def finish(self, outputs: Sequence[Any]) -> None:
        """A call of NumPy's is done when it returns."""

    def span(self, tensor: Any) -> Span | None:
        start = tensor.__array_interface__["data"][0]
        return (start, start + tensor.nbytes)


def _bfloat16() -> Any:
    try:
        import ml_dtypes
    except ImportError:
        raise NotHere from None
    return np.dtype(ml_dtypes.bfloat16)

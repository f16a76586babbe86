"""Checks in NumPy, which has no gradients and no batches, but lets a caller provide the memory of outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from opbridge.verify.check.arrays import Array
from opbridge.verify.check.drivers import Driver, NotHere, Span
from opbridge.waist.op import Op
from opbridge.waist.schema import Schema

AnyArray = np.ndarray[Any, np.dtype[Any]]


def make(device: str) -> Driver:
    """Return the driver."""
    return NumpyDriver()


class NumpyDriver(Driver):
    """NumPy, with non-contiguous layouts."""

    name = "numpy"
    has_gradients = False
    has_batches = False

    def tensor(self, array: Array) -> AnyArray:
        """Return a new NumPy array with these values."""
        # Copy, so that an operator that writes to its arguments changes nothing else.
        return np.array(array.values, dtype=self.dtype(array.dtype))

    def array(self, tensor: object) -> Array:
        """Return an array's values."""
        return Array.of(np.asarray(tensor), np.asarray(tensor).dtype.name)

    def dtype(self, name: str) -> np.dtype[Any]:
        """Return NumPy's element type of this name; bfloat16 needs the package ml_dtypes."""
        try:
            return np.dtype(name)
        except TypeError:
            if name == "bfloat16":
                return _bfloat16()
            raise NotHere from None

    def gradients(
        self, op: Op, schema: Schema, values: Mapping[str, object], names: Sequence[str], weights: Sequence[object]
    ) -> list[AnyArray]:
        """Raise NotHere: NumPy has no gradients."""
        raise NotHere

    def layouts(self, array: Array) -> Iterator[tuple[str, AnyArray]]:
        """Yield the values transposed, with a stride of two, and reversed."""
        plain = self.tensor(array)
        if plain.ndim > 1:
            yield "transposed", np.ascontiguousarray(plain.T).T
        if plain.ndim > 0:
            yield "every second element", np.repeat(plain, 2, axis=-1)[..., ::2]
            yield "reversed", np.ascontiguousarray(plain[::-1])[::-1]

    def finish(self, outputs: Sequence[object]) -> None:
        """Do nothing: a NumPy call is done when it returns."""

    def span(self, tensor: AnyArray) -> Span | None:
        """Return the addresses of the array's memory."""
        start = tensor.__array_interface__["data"][0]
        return (start, start + tensor.nbytes)


def _bfloat16() -> np.dtype[Any]:
    try:
        import ml_dtypes
    except ImportError:
        raise NotHere from None
    return np.dtype(ml_dtypes.bfloat16)

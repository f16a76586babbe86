"""Checks in Paddle, on its CPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import paddle

from opbridge.check.arrays import Array
from opbridge.check.drivers import Driver, NotHere, Span
from opbridge.schema import Schema


def make(device: str) -> Driver:
    paddle.set_device("cpu")
    return PaddleDriver()


class PaddleDriver(Driver):
    name = "paddle"
    has_batches = False

    def tensor(self, array: Array) -> Any:
        if array.dtype == "bfloat16":
            raise NotHere
        return paddle.to_tensor(np.array(array.values, dtype=array.dtype))

    def array(self, tensor: Any) -> Array:
        return Array.of(tensor.numpy(), str(tensor.dtype).removeprefix("paddle."))

    def dtype(self, name: str) -> Any:
        found = getattr(paddle, name, None)
        if not isinstance(found, paddle.dtype):
            raise NotHere
        return found

    def gradients(
        self, op: Any, schema: Schema, values: Mapping[str, Any], names: Sequence[str], weights: Sequence[Any]
    ) -> list[Any]:
        if schema.mutable_arguments:
            raise NotHere
        leaves = {name: values[name].detach() for name in names}
        for leaf in leaves.values():
            leaf.stop_gradient = False
        outputs = self.call(op, schema, {**values, **leaves})
        pairs = zip(outputs, weights, strict=True)
        total = sum((output * weight).sum() for output, weight in pairs if weight is not None)
        return list(paddle.grad(total, list(leaves.values())))

    def layouts(self, array: Array) -> Iterator[tuple[str, Any]]:
        plain = self.tensor(array)
        if plain.ndim > 1:
            yield "transposed", paddle.moveaxis(paddle.moveaxis(plain, 0, 1).contiguous(), 0, 1)

    def finish(self, outputs: Sequence[Any]) -> None:
        """A call on Paddle's CPU is done when it returns."""

    def span(self, tensor: Any) -> Span | None:
        start = tensor.data_ptr()
        return (start, start + tensor.size * tensor.element_size())

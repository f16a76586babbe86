"""Checks in Paddle on the CPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import paddle

from opbridge.verify.check.arrays import Array
from opbridge.verify.check.drivers import Driver, NotHere, Span
from opbridge.waist.op import Op
from opbridge.waist.schema import Schema


def make(device: str) -> Driver:
    """Select the CPU and return the driver."""
    paddle.set_device("cpu")
    return PaddleDriver()


class PaddleDriver(Driver):
    """Paddle on the CPU, without batches."""

    name = "paddle"
    has_batches = False

    def tensor(self, array: Array) -> paddle.Tensor:
        """Return a new Paddle tensor with these values; bfloat16 is not supported."""
        if array.dtype == "bfloat16":
            raise NotHere
        return paddle.to_tensor(np.array(array.values, dtype=array.dtype))

    def array(self, tensor: paddle.Tensor) -> Array:
        """Return a tensor's values."""
        return Array.of(tensor.numpy(), str(tensor.dtype).removeprefix("paddle."))

    def dtype(self, name: str) -> paddle.dtype:
        """Return Paddle's element type of this name."""
        found = getattr(paddle, name, None)
        if not isinstance(found, paddle.dtype):
            raise NotHere
        return found

    def gradients(
        self,
        op: Op,
        schema: Schema,
        values: Mapping[str, paddle.Tensor],
        names: Sequence[str],
        weights: Sequence[object],
    ) -> list[paddle.Tensor]:
        """Return the gradients of the weighted sum of the outputs, computed with paddle.grad."""
        if schema.mutable_arguments:
            raise NotHere
        leaves = {name: values[name].detach() for name in names}
        for leaf in leaves.values():
            leaf.stop_gradient = False
        outputs = self.call(op, schema, {**values, **leaves})
        pairs = zip(outputs, weights, strict=True)
        total = sum((output * weight).sum() for output, weight in pairs if weight is not None)
        return list(paddle.grad(total, list(leaves.values())))

    def layouts(self, array: Array) -> Iterator[tuple[str, paddle.Tensor]]:
        """Yield the values transposed."""
        plain = self.tensor(array)
        if plain.ndim > 1:
            yield "transposed", paddle.moveaxis(paddle.moveaxis(plain, 0, 1).contiguous(), 0, 1)

    def finish(self, outputs: Sequence[object]) -> None:
        """Do nothing: a Paddle call on the CPU is done when it returns."""

    def span(self, tensor: paddle.Tensor) -> Span | None:
        """Return the addresses of the tensor's memory."""
        start = tensor.data_ptr()
        return (start, start + tensor.size * tensor.element_size())

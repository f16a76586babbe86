"""Checks in MindSpore, in PyNative mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import mindspore as ms
import numpy as np

from opbridge.verify.check.arrays import Array
from opbridge.verify.check.drivers import Driver, NotHere
from opbridge.waist.op import Op
from opbridge.waist.schema import Schema


def make(device: str) -> Driver:
    """Make launches synchronous, so that an error belongs to the call that caused it, and return the driver."""
    ms.runtime.launch_blocking()  # an error belongs to the call that made it
    return MindSporeDriver()


class MindSporeDriver(Driver):
    """MindSpore in PyNative mode, without batches and memory layouts."""

    name = "mindspore"
    has_layouts = False
    has_batches = False
    # Also observed with plain libraries without opbridge: one result in a thousand belongs to another thread.
    one_thread_only = "MindSpore 2.10 mixes up calls of ops.Custom that come from several threads; use one"
    written_leaves_memory = "MindSpore 2.10 keeps 160 bytes of every write to a tensor, as of its own Tensor.copy_"

    def tensor(self, array: Array) -> ms.Tensor:
        """Return a new MindSpore tensor with these values."""
        if array.dtype == "bfloat16":
            return ms.Tensor(array.values.astype(np.float32)).astype(ms.bfloat16)
        return ms.Tensor(np.array(array.values, dtype=array.dtype))

    def array(self, tensor: ms.Tensor) -> Array:
        """Return a tensor's values."""
        name = str(tensor.dtype).lower()
        return Array.of((tensor.astype(ms.float32) if name == "bfloat16" else tensor).asnumpy(), name)

    def dtype(self, name: str) -> ms.Type:
        """Return MindSpore's element type of this name."""
        found = getattr(ms, "bool_" if name == "bool" else name, None)
        if found is None:
            raise NotHere
        return found

    def finish(self, outputs: Sequence[ms.Tensor]) -> None:
        """Wait for MindSpore's threads by asking for the memory of the outputs."""
        for output in outputs:
            output.data_ptr()  # asking for the memory waits for MindSpore's threads

    def gradients(
        self, op: Op, schema: Schema, values: Mapping[str, object], names: Sequence[str], weights: Sequence[object]
    ) -> list[ms.Tensor]:
        """Return the gradients of the weighted sum of the outputs, computed with ms.grad."""
        if schema.mutable_arguments:
            raise NotHere

        def total(*tensors: ms.Tensor) -> ms.Tensor:
            outputs = self.call(op, schema, {**values, **dict(zip(names, tensors, strict=True))})
            parts = [
                (output * weight).sum() for output, weight in zip(outputs, weights, strict=True) if weight is not None
            ]
            return sum(parts[1:], parts[0])

        found = ms.grad(total, tuple(range(len(names))))(*(values[name] for name in names))
        return list(found) if isinstance(found, tuple) else [found]

"""Run an operator under jax.vmap, by its `batch` rule."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp

from opbridge.frameworks.jax.call import Array, Call
from opbridge.waist.rules.batches import Batching

Axes = Sequence[int | None]
Bind = Callable[..., list[Array]]


class BatchWarning(UserWarning):
    """jax.vmap runs an operator once for each slice."""


def batched_call(bind: Bind, tensors: Sequence[Array], axes: Axes, *, call: Call) -> tuple[list[Array], list[int]]:
    """Return the outputs for a batch of inputs, and the batch dimension of each output."""
    ranks = [int(tensor.ndim) - (axis is not None) for tensor, axis in zip(tensors, axes, strict=True)]
    if call.elementwise and len(set(axes)) == 1 and len(set(ranks)) == 1:
        # The batch is one more dimension over which elements are paired, wherever it is.
        outputs = bind(call, *tensors)
        return outputs, [axes[0] or 0] * len(outputs)
    least = call.least_ranks or (0 if call.elementwise else None,) * len(tensors)
    samples = zip(least, ranks, [axis is not None for axis in axes], strict=True)
    extra = Batching(least, call.broadcasts).extra(samples)
    if extra is None:
        outputs = _one_by_one(bind, tensors, axes, call)
    else:
        wanted = [None if rank is None else rank + extra for rank in least]
        outputs = bind(call, *_leading(tensors, axes, wanted, call.broadcasts))
    return outputs, [0] * len(outputs)


def _leading(tensors: Sequence[Array], axes: Axes, ranks: Sequence[int | None], broadcasts: bool) -> list[Array]:
    """Return the tensors with the batch as first dimension, where samples have these ranks.

    A kernel that broadcasts does without the batch in tensors that have none.
    """
    size = _size(tensors, axes)
    found = []
    for tensor, axis, rank in zip(tensors, axes, ranks, strict=True):
        if axis is None:
            expands = rank is not None and not broadcasts
            found.append(jnp.broadcast_to(tensor, (size, *tensor.shape)) if expands else tensor)
            continue
        moved = jnp.moveaxis(tensor, axis, 0)
        added = (1,) * ((rank or 0) - moved.ndim + 1)
        found.append(moved.reshape(size, *added, *moved.shape[1:]) if added else moved)
    return found


def _one_by_one(bind: Bind, tensors: Sequence[Array], axes: Axes, call: Call) -> list[Array]:
    if call.advice:
        warnings.warn(
            f"{call.name} has no `batch` rule that covers this call: jax.vmap runs it once for each of the "
            f"{_size(tensors, axes)} slices. {call.advice}",
            BatchWarning,
            stacklevel=2,
        )
    batched = [jnp.moveaxis(tensor, axis, 0) for tensor, axis in zip(tensors, axes, strict=True) if axis is not None]

    def one(slices: list[Array]) -> list[Array]:
        given = iter(slices)
        merged = [tensor if axis is None else next(given) for tensor, axis in zip(tensors, axes, strict=True)]
        return bind(call, *merged)

    outputs: list[Array] = jax.lax.map(one, batched)
    return outputs


def _size(tensors: Sequence[Array], axes: Axes) -> int:
    return next(int(tensor.shape[axis]) for tensor, axis in zip(tensors, axes, strict=True) if axis is not None)

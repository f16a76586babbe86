"""Run an operator under jax.vmap, by its `batch` rule."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp

from opbridge.frameworks.jax.call import Array, Call

Axes = Sequence[int | None]
Bind = Callable[..., list[Array]]


class BatchWarning(UserWarning):
    """jax.vmap runs an operator once for each slice."""


def batched_call(bind: Bind, tensors: Sequence[Array], axes: Axes, *, call: Call) -> tuple[list[Array], list[int]]:
    """Return the outputs for a batch of inputs, and the batch dimension of each output."""
    if call.elementwise and _pairs_up(call, tensors, axes):
        if len(set(axes)) == 1 and len(_ranks(tensors, axes)) == 1:
            # The batch is one more dimension over which elements are paired, wherever it is.
            outputs = bind(call, *tensors)
            return outputs, [axes[0] or 0] * len(outputs)
        outputs = bind(call, *_leading(tensors, axes, [True] * len(axes), pads=call.broadcasts))
    elif call.leads and all(axis is None or leads for axis, leads in zip(axes, call.leads, strict=True)):
        outputs = bind(call, *_leading(tensors, axes, call.leads, pads=False))
    else:
        outputs = _one_by_one(bind, tensors, axes, call)
    return outputs, [0] * len(outputs)


def _rank(tensor: Array, axis: int | None) -> int:
    return int(tensor.ndim) - (axis is not None)


def _ranks(tensors: Sequence[Array], axes: Axes) -> set[int]:
    return {_rank(tensor, axis) for tensor, axis in zip(tensors, axes, strict=True)}


def _pairs_up(call: Call, tensors: Sequence[Array], axes: Axes) -> bool:
    """Return whether elements can be paired: a kernel that does not broadcast needs equal ranks, unpadded."""
    return call.broadcasts or len(_ranks(tensors, axes)) == 1


def _leading(tensors: Sequence[Array], axes: Axes, leads: Sequence[bool], pads: bool) -> list[Array]:
    """Return the tensors that lead with the batch as first dimension, padded if the kernel broadcasts."""
    size = _size(tensors, axes)
    rank = max(_ranks(tensors, axes))
    found = []
    for tensor, axis, lead in zip(tensors, axes, leads, strict=True):
        if axis is None:
            found.append(jnp.broadcast_to(tensor, (size, *tensor.shape)) if lead and not pads else tensor)
            continue
        moved = jnp.moveaxis(tensor, axis, 0)
        added = (1,) * (rank - _rank(tensor, axis)) if pads else ()
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

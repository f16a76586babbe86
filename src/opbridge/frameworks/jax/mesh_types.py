"""Read what JAX types say about a mesh.

Under shard_map, types say over which axes a value varies, and the inputs of a primitive have to agree. With
explicit axes, types say how a value is sharded, and a gradient must be sharded like its input. The public interface
for this changed between JAX versions, so it has its own module.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
from jax.core import ShapedArray
from jax.sharding import NamedSharding, PartitionSpec

if TYPE_CHECKING:
    import numpy as np


def _axes(value: jax.Array) -> frozenset[str]:
    kind = getattr(value, "manual_axis_type", None)
    axes: frozenset[str] = value.vma if kind is None else kind.varying
    return axes


def alike(values: Sequence[object]) -> list[jax.Array]:
    """Return the values, each varying over every axis that any of them varies over."""
    axes = [_axes(jax.typeof(value)) for value in values]
    everywhere = frozenset().union(*axes)
    return [
        value if own == everywhere else _spread(value, tuple(everywhere - own))
        for value, own in zip(values, axes, strict=True)
    ]


def _spread(value: object, axes: tuple[object, ...]) -> object:
    if hasattr(jax.lax, "pcast"):
        return jax.lax.pcast(value, axes, to="varying")
    return jax.lax.pvary(value, axes)


def abstract_like(
    inputs: Sequence[jax.Array], shape: Sequence[int], dtype: np.dtype[Any], spec: PartitionSpec
) -> object:
    """Return the type of an output: it varies like the inputs, and `spec` shards it if axes are explicit."""
    if not inputs:
        return ShapedArray(tuple(shape), dtype)
    filled = PartitionSpec(*spec, *(None,) * (len(shape) - len(spec)))
    sharding = NamedSharding(inputs[0].sharding.mesh, filled)
    return inputs[0].update(shape=tuple(shape), dtype=dtype, weak_type=False, sharding=sharding)


def described(value: jax.Array) -> jax.ShapeDtypeStruct:
    """Return the shape and element type of a value, and its sharding if that is part of its type."""
    sharding = jax.typeof(value).sharding
    return jax.ShapeDtypeStruct(value.shape, value.dtype, sharding=sharding if any(sharding.spec) else None)


def spec_of(like: jax.ShapeDtypeStruct) -> PartitionSpec:
    """Return the partition of a described value; empty if it is not sharded."""
    return PartitionSpec() if like.sharding is None else like.sharding.spec


def lying_as(value: object, sharding: NamedSharding) -> object:
    """Return the value, resharded if its type says another sharding."""
    return value if jax.typeof(value).sharding.spec == sharding.spec else _reshard(value, sharding)


def _reshard(value: object, sharding: NamedSharding) -> object:
    if hasattr(jax.sharding, "reshard"):
        return jax.sharding.reshard(value, sharding)
    from jax.experimental.shard import reshard

    return reshard(value, sharding)

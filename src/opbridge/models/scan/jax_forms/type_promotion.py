"""PyTorch's type promotion, which is neither JAX's nor NumPy's."""

from __future__ import annotations

from functools import reduce
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

Array: TypeAlias = jax.Array
Number = (bool, int, float, complex)
_OF_NUMBERS = {bool: "bool", int: "int64", float: "float32", complex: "complex64"}
_KINDS = (jnp.bool_, jnp.integer, jnp.floating, jnp.complexfloating)


def canonical(dtype: DTypeLike) -> object:
    """Return the JAX type for a PyTorch type: 64 bits become 32 without jax_enable_x64.

    MindSpore registers a NumPy type of its own by the name of bfloat16.
    """
    return jax.dtypes.canonicalize_dtype(jnp.bfloat16 if isinstance(dtype, str) and dtype == "bfloat16" else dtype)


def promoted(*values: Any) -> Any:
    """Return the type that values have together.

    Numbers count if they are of a higher kind than the tensors. Tensors without dimensions count likewise, next to
    tensors that have some.
    """
    tensors = [each for each in values if not isinstance(each, Number)]
    with_sizes = [each.dtype for each in tensors if each.ndim]
    without = [each.dtype for each in tensors if not each.ndim]
    numbers = [canonical(_OF_NUMBERS[type(each)]) for each in values if isinstance(each, Number)]
    found: Any = None
    for rank in (with_sizes, without, numbers):
        if rank:
            here = reduce(jnp.promote_types, rank)
            found = here if found is None else _joined(found, here)
    return found


def _joined(higher: Any, lower: Any) -> Any:
    return jnp.promote_types(higher, lower) if _kind(lower) > _kind(higher) else higher


def _kind(dtype: DTypeLike) -> int:
    return next(place for place, kind in enumerate(_KINDS) if jnp.issubdtype(dtype, kind))


def alike(*values: Any) -> tuple[Array, ...]:
    """Return all values in the type that they have together."""
    dtype = canonical(promoted(*values))
    return tuple(jnp.asarray(each, dtype) for each in values)


def floating(value: Array) -> Array:
    """Return whole numbers as float32, as functions of floats take them."""
    return value if jnp.issubdtype(value.dtype, jnp.inexact) else value.astype("float32")


def summed(value: Array, dtype: DTypeLike) -> Array:
    """Return the values that a sum adds, cast to `dtype`; without it, whole numbers become int64."""
    if dtype is not None:
        return value.astype(canonical(dtype))
    return value if jnp.issubdtype(value.dtype, jnp.inexact) else value.astype(canonical("int64"))

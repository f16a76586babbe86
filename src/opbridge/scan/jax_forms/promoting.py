"""Which element type PyTorch gives a result: neither JAX's nor NumPy's rules."""

from __future__ import annotations

from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp

Array = Any
Number = (bool, int, float, complex)
_OF_NUMBERS = {bool: "bool", int: "int64", float: "float32", complex: "complex64"}
_KINDS = (jnp.bool_, jnp.integer, jnp.floating, jnp.complexfloating)


def canonical(dtype: Any) -> Any:
    """The element type that JAX has for PyTorch's: without jax_enable_x64, 32 bits for 64."""
    return jax.dtypes.canonicalize_dtype(dtype)


def promoted(*values: Any) -> Any:
    """The element type of what several become together: numbers count where they are of a higher kind, and so do
    tensors without dimensions beside others."""
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


def _kind(dtype: Any) -> int:
    return next(place for place, kind in enumerate(_KINDS) if jnp.issubdtype(dtype, kind))


def alike(*values: Any) -> tuple[Array, ...]:
    """All in the element type that they have together."""
    dtype = promoted(*values)
    return tuple(jnp.asarray(each, dtype) for each in values)


def floating(value: Array) -> Array:
    """What a function of floats makes of whole numbers."""
    return value if jnp.issubdtype(value.dtype, jnp.inexact) else value.astype("float32")


def summed(value: Array, dtype: Any) -> Array:
    """What a sum adds: whole numbers as long ones."""
    if dtype is not None:
        return value.astype(canonical(dtype))
    return value if jnp.issubdtype(value.dtype, jnp.inexact) else value.astype(canonical("int64"))

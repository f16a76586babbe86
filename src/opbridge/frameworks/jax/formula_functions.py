"""Provide the functions and names of derivative formulas in JAX."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from opbridge.waist.rules import ARRAY_FUNCTIONS, DTYPE_CODES

Array = Any
"""An array, a tracer or a Python number: formulas mix them, and JAX accepts them all."""
Axes = int | tuple[int, ...] | None


def sum_to(x: Array, shape: Sequence[object]) -> Array:
    """Sum to a shape, which reverses a broadcast."""
    added = jnp.ndim(x) - len(shape)
    stretched = (added + i for i, size in enumerate(shape) if size == 1 and jnp.shape(x)[added + i] != 1)
    return jnp.sum(x, axis=(*range(added), *stretched), keepdims=True).reshape(shape)


def _variance(function: Callable[..., Array], x: Array, axis: Axes, correction: float, keepdims: bool) -> Array:
    return function(x, axis=axis, ddof=correction, keepdims=keepdims)


def _reduction(function: Callable[..., Array], x: Array, axis: Axes, keepdims: bool) -> Array:
    return function(x, axis=axis, keepdims=keepdims)


_RENAMED: Mapping[str, Callable[..., Array]] = {
    "cumulative_sum": jnp.cumsum,
    "erf": jax.scipy.special.erf,
    "rsqrt": lambda x: 1 / jnp.sqrt(x),
    "sigmoid": jax.nn.sigmoid,
    "concat": lambda arrays, axis: jnp.concatenate(arrays, axis),
    "stack": lambda arrays, axis: jnp.stack(arrays, axis),
    "sum_to": sum_to,
    "std": partial(_variance, jnp.std),
    "var": partial(_variance, jnp.var),
    **{
        name: partial(_reduction, getattr(jnp, name))
        for name in ("sum", "prod", "mean", "max", "min", "all", "any", "argmax", "argmin")
    },
}
"""Functions that jax.numpy names differently or gives more parameters; parameters in the order of the array API."""


FUNCTIONS: Mapping[str, Callable[..., Array]] = MappingProxyType(
    {
        name: declared.with_parameters(_RENAMED.get(name) or getattr(jnp, name))
        for name, declared in ARRAY_FUNCTIONS.items()
    }
)
"""The functions that a formula may call, in JAX."""

# Look types up as attributes: in NumPy, the name "bfloat16" means the type that any package registered last.
DTYPES: Mapping[str, np.dtype[Any]] = MappingProxyType(
    {name: np.dtype(getattr(jnp, "bool_" if name == "bool" else name)) for name in DTYPE_CODES}
)
"""The element types that kernels accept, in JAX."""

CODES: Mapping[np.dtype[Any], int] = MappingProxyType({dtype: DTYPE_CODES[name] for name, dtype in DTYPES.items()})

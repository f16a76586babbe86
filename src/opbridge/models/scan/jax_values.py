"""JAX for a trial: its arrays, its gradients, and the places in which an operator may be."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
import torch
from numpy.typing import NDArray

from opbridge.frameworks.jax.compiling import compiled
from opbridge.models.scan.layouts import Layout

VERSION = jax.__version__
TENSOR = jax.Array
ROOT = jax
FUNCTIONS = jnp
LAYOUTS = (Layout(),)


def prepare() -> None:
    """Switch on 64-bit types, so that PyTorch's can be compared."""
    jax.config.update("jax_enable_x64", True)


def device() -> str:
    """Return the backend of the trial, for which the verdicts hold."""
    backend: str = jax.default_backend()
    return backend.upper()


def called(function: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    """Call a function as a network that is compiled as a whole does: only sizes of arrays are known."""
    run, arrays = compiled(function, args, kwargs)
    return run(*arrays)


def leaf(value: object) -> object:
    """Return a PyTorch tensor or element type as that of JAX, and other values unchanged."""
    if isinstance(value, torch.Tensor):
        detached = value.detach().contiguous()
        if value.dtype is torch.bfloat16:
            return jnp.asarray(detached.float().numpy(), "bfloat16")
        return jnp.asarray(detached.numpy())
    return str(value).removeprefix("torch.") if isinstance(value, torch.dtype) else value


def dtype_of(array: jax.Array) -> str:
    """Return the element type by its PyTorch name."""
    return str(array.dtype)


def numbers_of(array: jax.Array) -> NDArray[np.generic]:
    """Return an array as a NumPy array; bfloat16 is widened to float32."""
    return np.asarray(array.astype("float32") if array.dtype == jnp.bfloat16 else array)


def gradients(total: Callable[..., object], tensors: Sequence[object]) -> Sequence[jax.Array]:
    """Return the compiled gradients of a function by all its tensors; those of complex numbers as PyTorch has them."""
    found: Sequence[jax.Array] = jax.jit(jax.grad(total, tuple(range(len(tensors)))))(*tensors)
    return [jnp.conj(each) if jnp.iscomplexobj(each) else each for each in found]

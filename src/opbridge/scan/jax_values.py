"""What a trial needs of JAX: its arrays, its gradients, and where an operator may be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import torch

VERSION = jax.__version__
TENSOR = jax.Array
ROOT = jax


def prepare() -> str:
    """The device; PyTorch's long numbers are to be seen."""
    jax.config.update("jax_enable_x64", True)
    device: str = jax.default_backend()
    return device.upper()


def called(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """As a network calls it that is compiled as a whole, where nothing is known of an array but sizes."""
    leaves, tree = jax.tree.flatten((args, kwargs))
    places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, jax.Array)]

    def of_arrays(*arrays: Any) -> Any:
        given = list(leaves)
        for place, array in zip(places, arrays, strict=True):
            given[place] = array
        inner, named = jax.tree.unflatten(tree, given)
        return function(*inner, **named)

    return jax.jit(of_arrays)(*(leaves[place] for place in places))


def leaf(value: Any) -> Any:
    """PyTorch's tensors and element types as JAX's."""
    if isinstance(value, torch.Tensor):
        detached = value.detach().contiguous()
        if value.dtype is torch.bfloat16:
            return jnp.asarray(detached.float().numpy(), "bfloat16")
        return jnp.asarray(detached.numpy())
    return str(value).removeprefix("torch.") if isinstance(value, torch.dtype) else value


def dtype_of(array: Any) -> str:
    return str(array.dtype)


def numbers_of(array: Any) -> Any:
    import numpy as np

    return np.asarray(array.astype("float32") if array.dtype == jnp.bfloat16 else array)


def gradients(total: Callable[..., Any], tensors: Sequence[Any]) -> Sequence[Any]:
    found: Sequence[Any] = jax.jit(jax.grad(total, tuple(range(len(tensors)))))(*tensors)
    return found

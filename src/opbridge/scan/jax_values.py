"""What a trial needs of JAX: its arrays, its gradients, and where an operator may be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

from opbridge.frameworks.jax.compiling import compiled

VERSION = jax.__version__
TENSOR = jax.Array
ROOT = jax


def prepare() -> None:
    """PyTorch's long numbers are to be seen."""
    jax.config.update("jax_enable_x64", True)


def device() -> str:
    """What is tried on, which verdicts hold for."""
    backend: str = jax.default_backend()
    return backend.upper()


def called(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """As a network calls it that is compiled as a whole, where nothing is known of an array but sizes."""
    run, arrays = compiled(function, args, kwargs)
    return run(*arrays)


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
    return np.asarray(array.astype("float32") if array.dtype == jnp.bfloat16 else array)


def gradients(total: Callable[..., Any], tensors: Sequence[Any]) -> Sequence[Any]:
    found: Sequence[Any] = jax.jit(jax.grad(total, tuple(range(len(tensors)))))(*tensors)
    return found

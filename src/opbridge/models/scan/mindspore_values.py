"""MindSpore for a trial: its tensors and its gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mindspore
import numpy as np
import torch
from numpy.typing import NDArray

from opbridge.models.scan.layouts import Layout, Turned
from opbridge.models.scan.mindspore_names import candidates, find

VERSION = mindspore.__version__
TENSOR = mindspore.Tensor
ROOT = mindspore
FUNCTIONS = mindspore.ops
LAYOUTS = (Layout(), Turned())


def prepare() -> None:
    """Make launches block, so that an error does not surface in the next attempt."""
    mindspore.runtime.launch_blocking()


def device() -> str:
    """Return the device target of the trial, for which the verdicts hold."""
    target: str = mindspore.get_context("device_target")
    return target


def called(function: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    """Call the function directly."""
    return function(*args, **kwargs)


def leaf(value: object) -> object:
    """Return a PyTorch tensor or element type as that of MindSpore, and other values unchanged."""
    if isinstance(value, torch.Tensor):
        detached = value.detach().contiguous()
        if value.dtype is torch.bfloat16:
            return mindspore.Tensor(detached.float().numpy()).astype(mindspore.bfloat16)
        return mindspore.Tensor(detached.numpy())
    if isinstance(value, torch.dtype):
        name = str(value).removeprefix("torch.")
        return getattr(mindspore, "bool_" if name == "bool" else name)
    return value


def dtype_of(tensor: mindspore.Tensor) -> str:
    """Return the element type by its PyTorch name."""
    return str(tensor.dtype).lower()


def numbers_of(tensor: mindspore.Tensor) -> NDArray[np.generic]:
    """Return a tensor as a NumPy array; bfloat16 is widened to float32."""
    widened = tensor.astype(mindspore.float32) if tensor.dtype == mindspore.bfloat16 else tensor
    numbers: NDArray[np.generic] = widened.asnumpy()
    return numbers


def gradients(total: Callable[..., object], tensors: Sequence[object]) -> Sequence[mindspore.Tensor]:
    """Return the gradients of a function by all its tensors."""
    found = mindspore.grad(total, tuple(range(len(tensors))))(*tensors)
    return found if isinstance(found, tuple) else (found,)


def places(operator: str) -> tuple[str, ...]:
    """Return the paths at which MindSpore has something of an operator's name, untried."""
    return tuple(path for path in candidates(operator) if find(mindspore, path) is not None)

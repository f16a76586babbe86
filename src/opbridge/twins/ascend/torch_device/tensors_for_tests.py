"""Random tensors for tests, each on the host and on the NPU, under the names of torch_npu.testing.common_utils."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

import numpy as np
import torch

Pair = tuple[torch.Tensor, torch.Tensor]
"""Equal tensors on the host and on the NPU."""

_DEVICE = "SET_NPU_DEVICE"
_FLOATS = {torch.half: np.float16, torch.float: np.float32}
_BROADCAST = (((2, 3, 4, 5), (1, 1, 1)), ((2, 3, 4, 5), (4, 5)))


def get_npu_device() -> str:
    """Return the device that the environment variable SET_NPU_DEVICE names."""
    return f"npu:{os.environ.get(_DEVICE, '0')}"


def set_npu_device() -> str:
    """Make that device current and return its name."""
    torch.npu.set_device(get_npu_device())
    return get_npu_device()


def create_common_tensor(
    item: Any,
    minValue: float,  # noqa: N803
    maxValue: float,  # noqa: N803
    device: torch.device | str | int | None = None,
) -> Pair:
    """Return a pair of tensors with uniform values.

    `item` is a NumPy element type, the format on the device (-1 for none), and the shape. Formats do not change values.
    """
    dtype, _, shape = item
    return _pair(np.random.uniform(minValue, maxValue, shape).astype(dtype), device)


def create_dtype_tensor(
    shape: Any,
    dtype: torch.dtype,
    npu_format: int = -1,
    min_value: int = -5,
    max_value: int = 5,
    no_zero: bool = False,
    device: torch.device | str | int | None = None,
) -> Pair:
    """Return a pair of tensors of a PyTorch element type: bool, half, float, or else int32."""
    if dtype == torch.bool:
        values = np.random.randint(0, 2, size=shape).astype(bool)
    elif dtype in _FLOATS:
        values = np.random.uniform(min_value, max_value, shape).astype(_FLOATS[dtype])
    else:
        values = np.random.randint(min_value, max_value + 1, size=shape).astype(np.int32)
    if no_zero:
        values = np.where(values != 0, values, np.ones_like(values))
    return _pair(values, device)


def _pair(values: np.ndarray[Any, Any], device: torch.device | str | int | None) -> Pair:
    host = torch.from_numpy(values)
    return host, host.clone().to(device or get_npu_device())


def test_2args_broadcast(fn: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> list[list[object]]:
    """Return the results of a function on the host and on the NPU for operands that broadcast."""
    pairs = [[create_common_tensor((np.float32, -1, shape), 0, 1) for shape in shapes] for shapes in _BROADCAST]
    return [[fn(x[0], y[0]).numpy(), fn(x[1], y[1]).cpu().numpy()] for x, y in pairs]


def check_operators_in_prof(
    expected_operators: Iterable[str], prof: torch.profiler.profile, unexpected_operators: Iterable[str] | None = None
) -> bool:
    """Return whether a profile has all expected operators and none of the unexpected ones."""
    seen = {item.key.replace("cached_", "") for item in prof.key_averages()}
    return seen.issuperset(expected_operators) and seen.isdisjoint(unexpected_operators or ())


@contextmanager
def freeze_rng_state() -> Iterator[None]:
    """Restore the state of the host's random numbers afterwards."""
    state = torch.get_rng_state()
    yield
    torch.set_rng_state(state)


def iter_indices(tensor: torch.Tensor) -> Iterable[object]:
    """Return the index of each element: a number for up to one dimension, else a tuple."""
    if tensor.dim() <= 1:
        return range(tensor.size(0) if tensor.dim() else 0)
    return product(*map(range, tensor.size()))


def is_iterable(obj: Any) -> bool:
    """Return whether an object can be iterated."""
    try:
        iter(obj)
    except TypeError:
        return False
    return True

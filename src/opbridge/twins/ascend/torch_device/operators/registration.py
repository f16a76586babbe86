"""The registration of torch_npu operators that are built from PyTorch ones.

Such an operator has gradients, and runs on the device of its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from opbridge.base.errors import UnsupportedError

_library = torch.library.Library("npu", "FRAGMENT")

EXPOSED: dict[str, Callable[..., object]] = {}
"""The registered operators by name, which the stand-in for torch_npu exposes."""

_CODES = (
    *(torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64),
    *(torch.complex32, torch.complex64, torch.complex128, torch.bool, torch.qint8, torch.quint8, torch.qint32),
    torch.bfloat16,
)
"""Element types in the order of PyTorch's own numbers, which schemas use."""


def operator(schema: str) -> Callable[[Callable[..., object]], Any]:
    """Register the decorated function as the operator that `schema` declares."""

    def define(function: Callable[..., object]) -> object:
        name = schema.partition("(")[0]
        _library.define(schema)
        _library.impl(name, function, "CompositeImplicitAutograd")
        packet = getattr(torch.ops.npu, name.partition(".")[0])
        EXPOSED[name.partition(".")[0]] = packet
        return packet

    return define


def dtype_of(code: int | None, default: torch.dtype) -> torch.dtype:
    """Return the element type of a PyTorch number.

    Raises:
        UnsupportedError: The number is none that the simulated device has.
    """
    if code is None:
        return default
    if not 0 <= code < len(_CODES):
        raise UnsupportedError(f"the simulated npu has no element type of number {code}")
    return _CODES[code]


def refuse(name: str, **given: object) -> None:
    """Raise for each argument that hardware supports and the simulated device does not."""
    for argument, value in given.items():
        if value is not None:
            raise UnsupportedError(f"{name}: the simulated npu does not take '{argument}' yet; got {value!r:.60}")

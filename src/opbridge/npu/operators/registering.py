"""How an operator of torch_npu's is made of PyTorch's: it has gradients then, and runs where its arguments are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from opbridge.errors import UnsupportedError

_library = torch.library.Library("npu", "FRAGMENT")

EXPOSED: dict[str, Any] = {}
"""What torch_npu shows of them, by name."""

_CODES = (
    *(torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64),
    *(torch.complex32, torch.complex64, torch.complex128, torch.bool, torch.qint8, torch.quint8, torch.qint32),
    torch.bfloat16,
)
"""PyTorch's own numbers of element types, as which schemas take them."""


def operator(schema: str) -> Callable[[Callable[..., Any]], Any]:
    def define(function: Callable[..., Any]) -> Any:
        name = schema.partition("(")[0]
        _library.define(schema)
        _library.impl(name, function, "CompositeImplicitAutograd")
        packet = getattr(torch.ops.npu, name.partition(".")[0])
        EXPOSED[name.partition(".")[0]] = packet
        return packet

    return define


def dtype_of(code: int | None, default: torch.dtype) -> torch.dtype:
    if code is None:
        return default
    if not 0 <= code < len(_CODES):
        raise UnsupportedError(f"the simulated npu has no element type of number {code}")
    return _CODES[code]


def refuse(name: str, **given: object) -> None:
    """What an operator takes on hardware and not here."""
    for argument, value in given.items():
        if value is not None:
            raise UnsupportedError(f"{name}: the simulated npu does not take '{argument}' yet; got {value!r:.60}")

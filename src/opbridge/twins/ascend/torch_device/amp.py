"""The `torch.npu.amp` module: PyTorch's own mixed precision for the simulated devices."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["GradScaler", "autocast"]


class autocast(torch.amp.autocast_mode.autocast):  # type: ignore[misc]  # noqa: N801 - as torch.cuda.amp.autocast
    """The `torch.npu.amp.autocast` context: PyTorch's autocast for `npu`, with float16 as its default."""

    def __init__(
        self, enabled: bool = True, dtype: torch.dtype = torch.float16, cache_enabled: bool | None = True
    ) -> None:
        super().__init__("npu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(torch.amp.GradScaler):  # type: ignore[misc]
    """PyTorch's gradient scaler for `npu`."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__("npu", *arguments, **keywords)

"""Under `torch.npu.amp`: PyTorch's own mixed precision, for these devices."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["GradScaler", "autocast"]


class autocast(torch.amp.autocast_mode.autocast):  # type: ignore[misc]  # noqa: N801 - as torch.cuda.amp.autocast
    def __init__(
        self, enabled: bool = True, dtype: torch.dtype = torch.float16, cache_enabled: bool | None = True
    ) -> None:
        super().__init__("npu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(torch.amp.GradScaler):  # type: ignore[misc]
    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__("npu", *arguments, **keywords)

"""`torch_npu.profiler`: PyTorch's profiler, which sees the work of these devices as the processor's that it is."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any

import torch
from torch.profiler import ProfilerAction, schedule, tensorboard_trace_handler

__all__ = [
    "AiCMetrics",
    "ExportType",
    "ProfilerAction",
    "ProfilerActivity",
    "ProfilerLevel",
    "_ExperimentalConfig",
    "profile",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


class ProfilerActivity(Enum):
    CPU = 0
    NPU = 1


class ProfilerLevel(Enum):
    Level_none = "Level_none"
    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"


class AiCMetrics(Enum):
    """What counters of hardware count; there are none here."""

    PipeUtilization = "PipeUtilization"
    ArithmeticUtilization = "ArithmeticUtilization"
    Memory = "Memory"
    MemoryL0 = "MemoryL0"
    MemoryUB = "MemoryUB"
    ResourceConflictRatio = "ResourceConflictRatio"
    L2Cache = "L2Cache"
    AiCoreNone = "AiCoreNone"


class ExportType(Enum):
    Text = "text"
    Db = "db"


class _ExperimentalConfig:
    """What hardware would record beside; nothing of it is here to record."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings


def supported_activities() -> set[ProfilerActivity]:
    return set(ProfilerActivity)


class profile(torch.profiler.profile):  # type: ignore[misc]  # noqa: N801 - as torch.profiler.profile
    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        experimental_config: _ExperimentalConfig | None = None,
        **keywords: Any,
    ) -> None:
        super().__init__(activities=[torch.profiler.ProfilerActivity.CPU], **keywords)

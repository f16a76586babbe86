"""The `torch_npu.profiler` module: PyTorch's profiler, which reports the work of the simulated devices as CPU work."""

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
    """The activities that programs may ask to record; all run on the CPU here."""

    CPU = 0
    NPU = 1


class ProfilerLevel(Enum):
    """The levels of detail of the hardware profiler, which change nothing here."""

    Level_none = "Level_none"
    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"


class AiCMetrics(Enum):
    """The hardware counters that programs may ask for; none exist here."""

    PipeUtilization = "PipeUtilization"
    ArithmeticUtilization = "ArithmeticUtilization"
    Memory = "Memory"
    MemoryL0 = "MemoryL0"
    MemoryUB = "MemoryUB"
    ResourceConflictRatio = "ResourceConflictRatio"
    L2Cache = "L2Cache"
    AiCoreNone = "AiCoreNone"


class ExportType(Enum):
    """The file formats that programs may ask for; the export is always PyTorch's."""

    Text = "text"
    Db = "db"


class _ExperimentalConfig:
    """The settings of what hardware would record in addition; none of it exists here."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings


def supported_activities() -> set[ProfilerActivity]:
    """Return all activities."""
    return set(ProfilerActivity)


class profile(torch.profiler.profile):  # type: ignore[misc]  # noqa: N801 - as torch.profiler.profile
    """PyTorch's profiler, which records the CPU whatever `activities` names."""

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        experimental_config: _ExperimentalConfig | None = None,
        **keywords: Any,
    ) -> None:
        super().__init__(activities=[torch.profiler.ProfilerActivity.CPU], **keywords)

"""What torch.cuda.Stream and torch.cuda.Event are made on, where PyTorch was built without.

All work is done when the call that gives it returns: streams differ by who they are, not by when they run.
"""

from __future__ import annotations

import time
from typing import Any, TypeVar

import torch

from opbridge.cuda_twin import native


class StreamBase(torch.Stream):  # type: ignore[misc]
    """The handle that C++ sees is the stream's number; 0 is the default one."""

    def __new__(cls, priority: int = 0, stream_ptr: int | None = None, **ids: int) -> StreamBase:
        if not ids:
            number = native.load().new_stream(priority) if stream_ptr is None else stream_ptr
            ids = {"stream_id": number, "device_index": 0, "device_type": torch._C._autograd.DeviceType.CUDA.value}
        made: StreamBase = super().__new__(cls, **ids)
        return made

    @property
    def cuda_stream(self) -> int:
        return int(self.stream_id)

    @property
    def priority(self) -> int:
        return 0


_Event = TypeVar("_Event", bound="EventBase")


class EventBase:
    """A moment."""

    _timed: bool
    _moment: float | None

    def __new__(
        cls: type[_Event],
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> _Event:
        made = super().__new__(cls)
        made._timed, made._moment = enable_timing, None
        return made

    @property
    def device(self) -> torch.device:
        return torch.device("cuda", 0)

    @property
    def cuda_event(self) -> int:
        return 0 if self._moment is None else id(self)

    def record(self, stream: Any = None) -> None:
        self._moment = time.perf_counter()

    def wait(self, stream: Any = None) -> None:
        """What it would be waited for has happened."""

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        native.load().synchronize()

    def elapsed_time(self, end: EventBase) -> float:
        if not self._timed or not end._timed:
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._moment is None or end._moment is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (end._moment - self._moment) * 1000

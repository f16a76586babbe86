"""The base classes of torch.cuda.Stream and torch.cuda.Event, for a PyTorch built without CUDA.

All work is done when its call returns: streams differ in identity, not in when they run.
"""

from __future__ import annotations

import time
from typing import TypeVar

import torch

from opbridge.twins.cuda.torch_device import native


class StreamBase(torch.Stream):  # type: ignore[misc]
    """A stream, whose C++ handle is its number; 0 is the default stream."""

    def __new__(cls, priority: int = 0, stream_ptr: int | None = None, **ids: int) -> StreamBase:
        """Create a stream, or wrap the one with the given handle or ids."""
        if not ids:
            number = native.load().new_stream(priority) if stream_ptr is None else stream_ptr
            ids = {"stream_id": number, "device_index": 0, "device_type": torch._C._autograd.DeviceType.CUDA.value}
        made: StreamBase = super().__new__(cls, **ids)
        return made

    @property
    def cuda_stream(self) -> int:
        """The handle that C++ code uses."""
        return int(self.stream_id)

    @property
    def priority(self) -> int:
        """The priority, which is always 0."""
        return 0


_Event = TypeVar("_Event", bound="EventBase")


class EventBase:
    """A moment in a stream."""

    _timed: bool
    _moment: float | None

    def __new__(
        cls: type[_Event],
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> _Event:
        """Create an event that is not recorded yet."""
        made = super().__new__(cls)
        made._timed, made._moment = enable_timing, None
        return made

    @property
    def device(self) -> torch.device:
        """The only device."""
        return torch.device("cuda", 0)

    @property
    def cuda_event(self) -> int:
        """The handle that C++ code uses; 0 before the event is recorded."""
        return 0 if self._moment is None else id(self)

    def record(self, stream: torch.Stream | None = None) -> None:
        """Record the current time: all earlier work is already done."""
        self._moment = time.perf_counter()

    def wait(self, stream: object = None) -> None:
        """Do nothing: the work before the event is already done."""

    def query(self) -> bool:
        """Return True: the work before the event is already done."""
        return True

    def synchronize(self) -> None:
        """Report the errors of earlier kernels; there is no work to wait for."""
        native.load().synchronize()

    def elapsed_time(self, end: EventBase) -> float:
        """Return the time between two recorded events in milliseconds.

        Raises:
            ValueError: An event has no timing or is not recorded.
        """
        if not self._timed or not end._timed:
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._moment is None or end._moment is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (end._moment - self._moment) * 1000

"""Streams and events of the simulated devices.

All work is done when its call returns: streams differ in identity, not in when they run.
"""

from __future__ import annotations

from typing import Any

import torch


class Stream(torch.Stream):  # type: ignore[misc]
    """A stream of an NPU, created by `torch.npu.Stream()`."""

    def __new__(cls, device: torch.device | str | int | None = None, priority: int = 0, **ids: int) -> Stream:
        """Create a stream, or wrap an existing one whose ids are given."""
        if ids:
            made: Stream = super().__new__(cls, **ids)
        else:
            made = super().__new__(cls, _named(device), priority=priority)
        return made

    @property
    def npu_stream(self) -> int:
        """The handle that C++ code uses."""
        return int(self.stream_id)

    def record_event(self, event: Any = None) -> object:
        """Record an event, a new one by default, and return it."""
        event = event or Event()
        event.record(self)
        return event


class _MadeByTorch(type):
    def __call__(cls, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> torch.Event:
        return torch.Event("npu", enable_timing=enable_timing, blocking=blocking, interprocess=interprocess)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, torch.Event)


class Event(metaclass=_MadeByTorch):
    """A moment in a stream; instances are PyTorch events, because PyTorch compares only its own."""


class StreamContext:
    """The context manager `with torch.npu.stream(s):`; None changes nothing."""

    def __init__(self, stream: torch.Stream | None) -> None:
        self.stream = stream
        self.before: tuple[torch.Stream, torch.Stream] | None = None

    def __enter__(self) -> None:
        if self.stream is None:
            return
        self.before = current_stream(), current_stream(self.stream.device)
        set_stream(self.stream)

    def __exit__(self, *_: object) -> None:
        if self.before is not None:
            device_before, stream_before = self.before
            torch._C._accelerator_setStream(stream_before)
            torch._C._accelerator_setStream(device_before)


def stream(stream: torch.Stream | None) -> StreamContext:
    """Return a context manager that makes `stream` the current one."""
    return StreamContext(stream)


def current_stream(device: torch.device | str | int | None = None) -> Stream:
    """Return the current stream of a device."""
    return _ours(torch._C._accelerator_getStream(_named(device).index))


def default_stream(device: torch.device | str | int | None = None) -> Stream:
    """Return the default stream of a device."""
    current = current_stream(device)
    return Stream(stream_id=0, device_index=current.device_index, device_type=current.device_type)


def set_stream(stream: torch.Stream) -> None:
    """Make a stream the current one, and its device the current device, as on hardware."""
    torch._C._accelerator_setStream(stream)


def _ours(stream: torch.Stream) -> Stream:
    return Stream(stream_id=stream.stream_id, device_index=stream.device_index, device_type=stream.device_type)


def _named(device: torch.device | str | int | None) -> torch.device:
    current = torch._C._accelerator_getDeviceIndex()
    if device is None or (isinstance(device, int) and device < 0):
        return torch.device("npu", current)
    named = torch.device("npu", device) if isinstance(device, int) else torch.device(device)
    return named if named.index is not None else torch.device(named.type, current)

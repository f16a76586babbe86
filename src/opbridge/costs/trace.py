"""A profile as a trace for Perfetto and chrome://tracing: one bar a kernel, as long as it is predicted to take."""

from __future__ import annotations

from typing import Any

from opbridge.costs.model import KernelCost, Profile

_MICRO = 1e6
_KERNELS, _BOUNDS = 1, 2


def trace(profile: Profile) -> dict[str, Any]:
    """In Chrome's format of events: kernels one after the other, and below each what would bound it."""
    events: list[dict[str, Any]] = [
        _named("process_name", 0, f"{profile.chip.title}, predicted"),
        _named("thread_name", _KERNELS, "kernels"),
    ]
    rows: dict[str, int] = {}
    now = 0.0
    for kernel in profile.kernels:
        events.append(_bar(kernel.name, _KERNELS, now, kernel.seconds, _facts(kernel)))
        for bound in kernel.bounds:
            row = rows.setdefault(bound.name, _BOUNDS + len(rows))
            events.append(_bar(bound.name, row, now, bound.seconds, {}))
        now += kernel.seconds
    events += [_named("thread_name", row, f"bound by {name}") for name, row in rows.items()]
    return {"traceEvents": events, "displayTimeUnit": "ns"}


def _facts(kernel: KernelCost) -> dict[str, Any]:
    found = kernel.fields()
    return {name: found[name] for name in found if name not in ("lines", "name")}


def _bar(name: str, row: int, begin: float, seconds: float, facts: dict[str, Any]) -> dict[str, Any]:
    times = {"ts": begin * _MICRO, "dur": seconds * _MICRO}
    return {"name": name, "ph": "X", "pid": 0, "tid": row, **times, "args": facts}


def _named(what: str, row: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": 0, "tid": row, "args": {"name": name}}

"""Run the source of a converted network line by line."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from opbridge.models.conversion.frameworks_under_test import Side
from opbridge.models.conversion.function_source import Origin
from opbridge.models.conversion.graph_replay import MODE


@dataclass(frozen=True)
class Step:
    """One line of the source that was run."""

    path: str
    origin: Origin
    value: object
    number: int
    variables: Mapping[str, object]
    module: Mapping[str, object]
    """The globals of the line."""


def steps_of(side: Side, origins: Mapping[tuple[str, str], Mapping[str, Origin]], source: Path) -> Iterator[Step]:
    """Return a step for every name of the source that holds an operator's result, in the order of execution."""
    known = {path: names for (mode, path), names in origins.items() if mode == MODE}
    file = str(source)
    steps: list[Step] = []

    def entered(frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename != file:
            return None
        path = side.path(frame.f_locals, known)
        if path is None:
            return None
        left = dict(known[path])
        ran = frame.f_lineno

        def moved(frame: FrameType, event: str, argument: object) -> Any:
            nonlocal ran
            for name in [each for each in left if each in frame.f_locals]:
                values = dict(frame.f_locals)
                steps.append(Step(path, left.pop(name), values[name], ran, values, frame.f_globals))
            ran = frame.f_lineno
            return moved

        return moved

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        side.run()
    finally:
        sys.settrace(before)
    return iter(steps)

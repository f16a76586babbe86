"""What a report shows, gathered from operators, the rows of a check and the runs of a benchmark."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from opbridge.bench.model import Measurement, Problem, Run
from opbridge.check.model import Row, Status
from opbridge.errors import InputError
from opbridge.manifest import OpSpec
from opbridge.report.dispatch import Level


@dataclass(frozen=True)
class ReportedKernel:
    device: str
    text: str
    """As the manifest names it."""
    source: str | None
    """The text of its file; None where it is none, or cannot be read."""


@dataclass(frozen=True)
class ReportedOperator:
    """Everything about one operator."""

    name: str
    schema: str
    rules: Mapping[str, object]
    kernels: tuple[ReportedKernel, ...]
    rows: tuple[Row, ...]
    measurements: tuple[Measurement, ...]
    problems: tuple[Problem, ...] = ()
    dispatch: tuple[Level, ...] = ()

    @property
    def short(self) -> str:
        return self.name.partition("::")[2]

    @property
    def anchor(self) -> str:
        return f"op-{re.sub(r'[^A-Za-z0-9_-]', '-', self.short)}"

    @property
    def status(self) -> Status:
        if any(row.failed for row in self.rows) or self.problems:
            return Status.FAILED
        found = {row.status for row in self.rows}
        return next((status for status in (Status.PASSED, Status.UNCHECKED) if status in found), Status.SKIPPED)

    @property
    def places(self) -> list[str]:
        """The frameworks it was checked in, each with its device."""
        return list(dict.fromkeys(place_of(row) for row in self.rows))


@dataclass(frozen=True)
class Contents:
    title: str
    date: str
    version: str
    operators: tuple[ReportedOperator, ...]
    run: Run | None = None
    history: Mapping[str, Run] = field(default_factory=dict)
    """Runs that were saved, the oldest first."""
    profile: Mapping[str, Any] | None = None
    """What kernels are predicted to cost, as `opbridge profile --json` says it."""

    @cached_property
    def rows(self) -> list[Row]:
        return [row for operator in self.operators for row in operator.rows]

    @property
    def places(self) -> list[str]:
        return list(dict.fromkeys(place for operator in self.operators for place in operator.places))


def place_of(item: Row | Measurement) -> str:
    return item.framework if item.device == "cpu" else f"{item.framework} on {item.device}"


def operators_of(
    ops: Sequence[Any], rows: Sequence[Row], run: Run | None, dispatch: Mapping[str, tuple[Level, ...]]
) -> tuple[ReportedOperator, ...]:
    """The operators with what is known of each; what is known of none of them is the user's mistake."""
    names = {op.name for op in ops}
    told = {row.operator for row in rows} | {item.operator for item in (run.measurements if run else ())}
    if told and not told & names:
        raise InputError(
            f"these results are of other operators: {', '.join(sorted(told)[:3])}",
            hint=f"the manifest has {', '.join(sorted(names)[:3])}; check and measure it: opbridge report ops.yaml",
        )
    return tuple(
        ReportedOperator(
            op.name,
            str(op.schema),
            {name: value for name, value in op.spec.fields().items() if name not in ("func", "kernels", "samples")},
            _kernels(op.spec),
            tuple(row for row in rows if row.operator == op.name),
            tuple(item for item in (run.measurements if run else ()) if item.operator == op.name),
            tuple(item for item in (run.problems if run else ()) if item.operator == op.name),
            dispatch.get(op.name, ()),
        )
        for op in ops
    )


def _kernels(spec: OpSpec) -> tuple[ReportedKernel, ...]:
    found = []
    for kernel in spec.kernels:
        source = None
        if kernel.path is not None and not kernel.is_library:
            source = kernel.source or spec.file(kernel).read_text(encoding="utf-8", errors="replace")
        found.append(ReportedKernel(kernel.device, str(kernel), source))
    return tuple(found)

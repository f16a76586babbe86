"""Gather the contents of a report from operators, the rows of a check and the runs of a benchmark."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from opbridge.analysis.bench.measurement import Measurement, Problem, Run
from opbridge.analysis.report.dispatch_keys import Level
from opbridge.base.errors import InputError
from opbridge.verify.check.results import Row, Status
from opbridge.waist.manifest import OpSpec


@dataclass(frozen=True)
class ReportedKernel:
    """A kernel of an operator, with its source."""

    device: str
    text: str
    """The kernel as the manifest writes it."""
    source: str | None
    """The text of its source file; None if it has none, as a library."""


@dataclass(frozen=True)
class ReportedOperator:
    """All results for one operator."""

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
        """The name without its namespace."""
        return self.name.partition("::")[2]

    @property
    def anchor(self) -> str:
        """The id of its section on the page."""
        return f"op-{re.sub(r'[^A-Za-z0-9_-]', '-', self.short)}"

    @property
    def status(self) -> Status:
        """FAILED if a check failed or a measurement was impossible, PASSED if a check passed, otherwise SKIPPED."""
        if any(row.failed for row in self.rows) or self.problems:
            return Status.FAILED
        found = {row.status for row in self.rows}
        return next((status for status in (Status.PASSED, Status.UNCHECKED) if status in found), Status.SKIPPED)

    @property
    def places(self) -> list[str]:
        """The frameworks that it was checked in, each with its device."""
        return list(dict.fromkeys(place_of(row) for row in self.rows))


@dataclass(frozen=True)
class Contents:
    """All contents of a report."""

    title: str
    date: str
    version: str
    operators: tuple[ReportedOperator, ...]
    run: Run | None = None
    history: Mapping[str, Run] = field(default_factory=dict)
    """The saved runs, the oldest first."""
    profile: Mapping[str, object] | None = None
    """The predicted costs of kernels, as `opbridge profile --json` prints them."""

    @cached_property
    def rows(self) -> list[Row]:
        """The check rows of all operators."""
        return [row for operator in self.operators for row in operator.rows]

    @property
    def places(self) -> list[str]:
        """The frameworks that any operator was checked in, each with its device."""
        return list(dict.fromkeys(place for operator in self.operators for place in operator.places))


def place_of(item: Row | Measurement) -> str:
    """Return the framework of a result, with its device unless that is the CPU."""
    return item.framework if item.device == "cpu" else f"{item.framework} on {item.device}"


def operators_of(
    ops: Sequence[Any], rows: Sequence[Row], run: Run | None, dispatch: Mapping[str, tuple[Level, ...]]
) -> tuple[ReportedOperator, ...]:
    """Collect the results of each operator.

    Raises:
        InputError: There are results, but none of them belongs to one of these operators.
    """
    names = {op.name for op in ops}
    told = {row.operator for row in rows} | {item.operator for item in (run.measurements if run else ())}
    if told and not told & names:
        raise InputError(
            f"these results belong to other operators: {', '.join(sorted(told)[:3])}",
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

"""Run one check of each operator, all of a framework in one process."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Event

from opbridge.verify.check import Row, Settings
from opbridge.verify.check.check_processes import run
from opbridge.verify.check.results import OperatorChecks
from opbridge.waist.op import Op


def rows_of(chosen: Iterable[tuple[Op, str, str]], patience: float = 60.0) -> list[Row]:
    """Return the rows of operators, each with its framework and its check, as `check` finds them."""
    jobs: dict[str, list[OperatorChecks]] = {}
    for op, framework, what in chosen:
        jobs.setdefault(framework, []).append(
            OperatorChecks(op, op.name, framework, (what,), Settings(patience=patience))
        )
    found: list[Row] = []
    for some in jobs.values():
        run(some, found.append, Event())
    return found

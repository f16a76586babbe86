"""The demo's table, which prints each row as soon as its results are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock

from opbridge.base.progress import show
from opbridge.cli.demo.scenarios import EXTENSION, NO_TORCH, SCENARIOS, mark
from opbridge.cli.terminal import bold, green
from opbridge.frameworks import FRAMEWORKS
from opbridge.verify.check import Row

WIDTH = max(len(scenario.source) for scenario in (*SCENARIOS, EXTENSION))


class Table:
    """One line per scenario, in order.

    The frameworks check the operators in that order too, in parallel.
    """

    def __init__(self, frameworks: Sequence[str], built: Mapping[str, float]) -> None:
        self._frameworks = frameworks
        self._built = built
        self._rows: list[Row] = []
        self._begun = dict.fromkeys(frameworks, 0)
        """The index of the scenario that each framework is checking."""
        self._shown = 0
        self._lock = Lock()  # each framework adds rows from its own thread
        columns = " ".join(f"{name:10}" for name in frameworks)
        show()
        print(bold(f"  {'source':{WIDTH}}  {'operator':13} {'built in':9} {columns}"), flush=True)

    def add(self, row: Row) -> None:
        """Add a result, and print the scenarios that every framework has finished."""
        with self._lock:
            self._rows.append(row)
            at = next(place for place, one in enumerate(SCENARIOS) if row.operator == f"demo::{one.operator}")
            self._begun[row.framework] = max(self._begun[row.framework], at)
            self._show_until(min(self._begun.values()))

    def finish(self) -> None:
        """Print the remaining scenarios, the legend, and the frameworks that are not installed."""
        self._show_until(len(SCENARIOS))
        print(f"\n  {green('✓')} value   {green('∂')} gradient: both compared with NumPy in each framework")
        for framework in FRAMEWORKS.values():
            if framework.name not in self._frameworks and framework.beside_others:
                print(f"  {framework.name} is not installed: {framework.install}")

    def _show_until(self, place: int) -> None:
        for scenario in SCENARIOS[self._shown : place]:
            show()
            seconds = f"{self._built[scenario.operator]:.2f} s" if scenario.is_built else "nothing"
            marks = " ".join(mark(self._rows, scenario.operator, name) for name in self._frameworks)
            shown = marks if scenario.is_built or "torch" in self._frameworks else NO_TORCH
            print(f"  {scenario.source:{WIDTH}}  {scenario.operator:13} {seconds:9} {shown}", flush=True)
        self._shown = max(self._shown, place)

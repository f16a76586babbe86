"""Record what each test costs: seconds on the clock and on the processors, compilers run, Python processes started.

Children count once they have ended and been waited for.  Compilers and Pythons are those that the test's own process
starts; what such a Python starts in turn shows in its processor time alone.
"""

from __future__ import annotations

import os
import re
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from datetime import date
from pathlib import Path

import pytest

_PROPERTY = "costs"
_COMPILERS = re.compile(r"(.*-)?(g\+\+|gcc|clang\+\+|clang|c\+\+|cc|nvcc|bisheng)(-\d+)?$")
_PYTHONS = re.compile(r"python[\d.]*$")


@dataclass(frozen=True)
class Cost:
    """What one test, file or suite costs."""

    wall: float = 0.0
    own: float = 0.0
    children: float = 0.0
    compilers: int = 0
    pythons: int = 0

    @property
    def processor(self) -> float:
        return self.own + self.children

    def __add__(self, other: Cost) -> Cost:
        return Cost(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))

    def __sub__(self, other: Cost) -> Cost:
        return Cost(*(mine - theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))


class _Started:
    """Count the programs that this process starts, by an audit hook."""

    def __init__(self) -> None:
        self.compilers = self.pythons = 0
        sys.addaudithook(self._heard)

    def _heard(self, event: str, arguments: tuple[object, ...]) -> None:
        if event not in ("subprocess.Popen", "os.posix_spawn"):
            return
        name = os.path.basename(os.fsdecode(arguments[0] or ""))  # type: ignore[arg-type]
        self.compilers += bool(_COMPILERS.match(name))
        self.pythons += bool(_PYTHONS.match(name))


class CostRecorder:
    """Measure each test where it runs, and add the measurements up where results are collected."""

    def __init__(self, place: str | None = None) -> None:
        self._started, self._place = _Started(), place
        self.tests: dict[str, Cost] = {}

    def _now(self) -> Cost:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = children.ru_utime + children.ru_stime
        return Cost(time.perf_counter(), time.process_time(), spent, self._started.compilers, self._started.pythons)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._begun = self._now()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        if call.when == "teardown":
            item.user_properties.append((_PROPERTY, list(astuple(self._now() - self._begun))))
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            self.tests[report.nodeid] = Cost(*dict(report.user_properties)[_PROPERTY])  # type: ignore[misc]

    def files(self) -> dict[str, Cost]:
        """Return the cost of each file, the most expensive first."""
        files: dict[str, Cost] = defaultdict(Cost)
        for test, cost in self.tests.items():
            files[test.split("::")[0]] += cost
        return dict(sorted(files.items(), key=lambda row: -row[1].processor))

    def _add_forks(self) -> None:
        """Add what the forks of each test cost, which the tests' own processes have not waited for."""
        place = os.environ.get("OPBRIDGE_TESTS_FORK_COSTS")
        for line in Path(place).read_text().splitlines() if place else ():
            test, seconds = line.rsplit("\t", 1)
            self.tests[test] = self.tests.get(test, Cost()) + Cost(children=float(seconds))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        self._add_forks()
        files = self.files()
        if self._place:
            Path(self._place).write_text(page(files))
        if sum(cost.processor for cost in files.values()) < 60:
            return
        terminalreporter.section("most expensive files")
        for line in table(files, most=10):
            terminalreporter.write_line(line)


def table(files: dict[str, Cost], most: int) -> Iterator[str]:
    """Lay out the most expensive files and the sum of all, a line each."""
    yield f"{'clock s':>8}{'own CPU':>9}{'children':>10}{'compilers':>11}{'pythons':>9}  file"
    rows = [*list(files.items())[:most], (f"all {len(files)} files", sum(files.values(), Cost()))]
    for file, cost in rows:
        yield f"{cost.wall:8.0f}{cost.own:9.0f}{cost.children:10.0f}{cost.compilers:11}{cost.pythons:9}  {file}"


def page(files: dict[str, Cost], most: int = 40) -> str:
    """Return a page of documentation with the most expensive files and the sum of all."""
    rows = [*list(files.items())[:most], (f"all {len(files)} files", sum(files.values(), Cost()))]
    return "\n".join(
        [
            "# What the tests cost",
            "",
            f"`make costs` wrote this on {date.today()}, with {os.cpu_count()} cores, for `make test`: seconds.",
            "Compilers and Pythons are those that the tests start themselves.",
            "",
            "| file | clock | own CPU | children's CPU | compilers | Pythons |",
            "|---|---:|---:|---:|---:|---:|",
            *(f"| {file} | {' | '.join(f'{number:.0f}' for number in astuple(cost))} |" for file, cost in rows),
            "",
        ]
    )

"""One report of everything that a report can show, and one browser for all tests that look at it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser
from runs import measured, run_of

from opbridge.analysis.bench import LARGE, Problem
from opbridge.analysis.report import Contents, ReportedKernel, ReportedOperator, page
from opbridge.analysis.report.dispatch_keys import levels
from opbridge.verify.check import Curve, Row, Status

SOURCE = '// </script><script>document.title = "taken"</script> <b onclick="1">&amp;</b>\nint x = 1 < 2;\n'
EPS = tuple(10.0**-power for power in range(1, 8))
VALLEY = Curve("float64", EPS, (1e-2, 1e-4, 1e-6, 1e-8, 1e-7, 1e-6, float("inf")))
PLAIN = Curve("float32", EPS, (0.3, 0.3, 0.3, 0.3, 0.4, 0.5, 0.9), settled=0.3)


def operator(name: str = "op", *, failed: bool = False) -> ReportedOperator:
    full = f"mine::{name}"
    status = Status.FAILED if failed else Status.PASSED
    dtypes = (("float32", status), ("float64", Status.PASSED), ("bfloat16", Status.SKIPPED))
    rows = [
        Row(full, "numpy", "values", Status.SKIPPED, "nothing to compare with"),
        Row(full, "torch", "values", status, "gives 1 instead of <2>", seconds=0.1),
        Row(full, "torch", "gradients", status, "error 1e-08", curves=(VALLEY, PLAIN)),
        Row(full, "torch", "dtypes", status, "float32, float64", dtypes=dtypes),
        Row(full, "torch", "values", Status.PASSED, "as the kernel for cpu", device="cuda-twin"),
    ]
    small, large = (measured(1e-6, ratio=0.5, operator=full), measured(1e-2, extent=LARGE, operator=full))
    keys = [("CPU", "opbridge"), ("CUDA", "opbridge"), ("Autograd", "opbridge"), ("FuncTorchBatched", "opbridge")]
    return ReportedOperator(
        full,
        f"{full}(Tensor x) -> Tensor",
        {"out": "x", "derivatives": {"x": "grad * x"}, "flops": "x.numel"},
        (ReportedKernel("cpu", "kernel.cpp", SOURCE), ReportedKernel("cuda", "aten::neg", None)),
        tuple(rows),
        (small, large),
        (Problem(full, "jax", "the process dies of SIGABRT"),) if failed else (),
        levels(keys),
    )


def contents(*operators: ReportedOperator) -> Contents:
    measurements = tuple(item for one in operators for item in one.measurements)
    days = ("2026-11-20T10:00:00+00:00", "2026-11-21T10:00:00+00:00")
    history = {f"run-{day[8:10]}": run_of(*measurements, date=day) for day in days}
    return Contents("mine", days[-1], "0.1.0", operators, run_of(*measurements), history)


@pytest.fixture(scope="session")
def report() -> Contents:
    return contents(operator("right"), operator("wrong", failed=True), operator("with.overload"))


@pytest.fixture(scope="session")
def html(report: Contents) -> str:
    return page(report)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    opened = Browser(tmp_path_factory.mktemp("browser"))
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def file(tmp_path_factory: pytest.TempPathFactory, html: str) -> Path:
    written = tmp_path_factory.mktemp("report") / "report.html"
    written.write_text(html, encoding="utf-8")
    return written

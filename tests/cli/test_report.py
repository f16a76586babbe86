"""The command on a folder of a user's: what it runs, what it reads, what it refuses."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from runs import measured, run_of

from opbridge.analysis.bench.saved_runs import to_json
from opbridge.verify.check import Row, Status
from opbridge.verify.check.reports import to_json as rows_to_json

Opbridge = Callable[..., subprocess.CompletedProcess[str]]

KERNEL = """\
#include <opbridge/kernel.h>
// </script>
void plus(ob::In<float> x, ob::Out<float> out) {
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x[i] + 1;
}
OB_KERNEL(plus)
"""
MANIFEST = """\
namespace: mine
ops:
  - {func: plus(Tensor x) -> Tensor, out: x, kernels: {cpu: plus.cpp}, samples: [{x: {shape: [4]}}]}
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path) -> Path:
    (tmp_path / "plus.cpp").write_text(KERNEL)
    (tmp_path / "ops.yaml").write_text(MANIFEST)
    return tmp_path


def write_results(project: Path, operator: str = "mine::plus", status: Status = Status.PASSED) -> tuple[str, ...]:
    rows = [Row(operator, "numpy", "values", status, "as it was seen")]
    (project / "rows.json").write_text(rows_to_json(rows, seed=0))
    (project / "run.json").write_text(to_json(run_of(measured(1e-6, operator=operator))))
    return "report", "ops.yaml", "--framework", "numpy", "--check", "rows.json", "--bench", "run.json"


def test_it_checks_and_measures_what_nobody_brought(opbridge: Opbridge, project: Path) -> None:
    result = opbridge("report", "--framework", "numpy")
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.startswith("opbridge-report.html: 1 operators, ")
    html = (project / "opbridge-report.html").read_text()
    assert "bit for bit" in html
    assert "x=float32[4]" in html
    assert "// &lt;/script&gt;" in html


def test_it_shows_what_was_brought_and_what_was_saved(opbridge: Opbridge, project: Path) -> None:
    folder = project / ".opbridge" / "bench"
    folder.mkdir(parents=True)
    for day in (20, 21):
        run = run_of(measured(1e-6, operator="mine::plus"), date=f"2026-11-{day}T10:00:00+00:00")
        (folder / f"day-{day}.json").write_text(to_json(run))
    result = opbridge(*write_results(project), "-o", "out.html")
    assert result.returncode == 0, result.stdout + result.stderr
    html = (project / "out.html").read_text()
    assert "as it was seen" in html
    assert "day-20" in html


def test_results_of_several_devices_stand_side_by_side(opbridge: Opbridge, project: Path) -> None:
    twin = [Row("mine::plus", "torch", "values", Status.PASSED, "seen in the twin", device="cuda-twin")]
    (project / "twin.json").write_text(rows_to_json(twin, seed=0))
    result = opbridge(*write_results(project), "--check", "twin.json", "-o", "out.html")
    assert result.returncode == 0, result.stdout + result.stderr
    html = (project / "out.html").read_text()
    assert "as it was seen" in html
    assert "torch on cuda-twin" in html


def test_a_failed_row_makes_it_1(opbridge: Opbridge, project: Path) -> None:
    result = opbridge(*write_results(project, status=Status.FAILED))
    assert result.returncode == 1
    assert "1 failed" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-o", "nowhere/report.html"), "mkdir -p"),
        (("-o", "."), "is a folder; expected a file"),
        (("-o", "astray.html"), "astray.html cannot be written: No such file or directory"),
        (("--check", "ops.yaml"), "is not what this version's `opbridge check --json` writes"),
        (("--check", "missing.json"), "missing.json: No such file or directory"),
        (("--bench", "rows.json"), "is not a run of this version's `opbridge bench`"),
    ],
)
def test_what_is_wrong_is_said(opbridge: Opbridge, project: Path, arguments: tuple[str, ...], words: str) -> None:
    (project / "astray.html").symlink_to(project / "nowhere" / "report.html")
    result = opbridge(*write_results(project), *arguments)
    assert result.returncode == 2
    assert words in result.stderr


def test_results_of_other_operators_are_refused(opbridge: Opbridge, project: Path) -> None:
    result = opbridge(*write_results(project, operator="yours::minus"))
    assert result.returncode == 2
    assert "these results belong to other operators: yours::minus" in result.stderr


def test_rows_of_an_older_version_are_refused(opbridge: Opbridge, project: Path) -> None:
    arguments = write_results(project)
    rows = json.loads((project / "rows.json").read_text())
    del rows["rows"][0]["dtypes"]
    (project / "rows.json").write_text(json.dumps(rows))
    result = opbridge(*arguments)
    assert result.returncode == 2
    assert "check again: opbridge check ops.yaml --json FILE" in result.stderr

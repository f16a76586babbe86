"""`make quick` leaves out a test file only if nothing has changed that its outcome may depend on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import passed_before  # noqa: E402

TESTS = """
import pytest, sys, time
def test_passes(): pass
@pytest.mark.parametrize("number", [1, 2])
def test_second(number): {second}
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "from opbridge.build.cache.store import Cache",
            {"opbridge/build/cache/store.py", "opbridge/build/cache/__init__.py"},
        ),
        ('code = "import opbridge.waist.op as op"', {"opbridge/waist/op.py"}),
        ("import opbridge as ob", {"opbridge/__init__.py", "opbridge/__main__.py"}),
        ('import_module(f"opbridge.cli.{name}")', {"opbridge/cli/build.py", "opbridge/cli/check.py"}),
    ],
)
def test_every_module_that_a_text_names_counts(text: str, expected: set[str]) -> None:
    assert expected <= passed_before._named(text)


def test_a_module_counts_with_what_it_names_in_turn() -> None:
    files = {str(file) for file in passed_before._modules(frozenset({"opbridge/waist/schema/__init__.py"}))}
    assert "opbridge/waist/schema/parser.py" in " ".join(files)


def test_the_state_is_that_of_every_file() -> None:
    test = Path("tests/waist/schema/test_schema.py")
    before = passed_before.state_of(test)
    assert before == passed_before.state_of(test)
    assert before != passed_before.state_of(Path("tests/test_names.py"))


@pytest.mark.parametrize(
    ("second", "passed"),
    [
        ("pass", True),
        ("pytest.skip('no GPU')", True),
        ("pytest.skip('the time is up')", False),
        ("assert number == 1", False),
    ],
)
def test_a_file_has_passed_when_all_of_it_has(tmp_path: Path, second: str, passed: bool) -> None:
    (tmp_path / "test_it.py").write_text(TESTS.format(second=second))
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", tmp_path]
    subprocess.run([*command, f"--junit-xml={report}", "-o", "junit_family=xunit1", tmp_path], capture_output=True)
    assert passed_before.passed_in(report) == ({Path("test_it.py")} if passed else set())

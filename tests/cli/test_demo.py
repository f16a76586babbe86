"""`opbridge demo`: one screen, on which every source works in every framework."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from opbridge.cli.demo.programs import ended, frameworks_imported, program

SOURCES = ("a C++ kernel", "PyTorch's operator", "a CUDA kernel", "an Ascend C kernel", "a PyTorch extension")
FRAMEWORKS = ("torch", "numpy", "mindspore", "jax")


@pytest.mark.matrix("tests/cli covers each command that the demo runs, and examples what it shows")
def test_five_sources_in_every_framework(tmp_path: Path) -> None:
    # In the user's own cache, which has the adapters and PyTorch's headers.
    command = [sys.executable, "-m", "opbridge", "demo", "--keep", str(tmp_path / "demo")]
    shown = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    lines = {source: line for line in shown.stdout.splitlines() for source in SOURCES if line.startswith(f"  {source}")}
    marks = [re.findall("[✓∂✗]+", lines[source]) for source in SOURCES]
    assert marks == [["✓∂", "✓", "✓∂", "✓∂"]] * 4 + [["✓∂"]]
    assert "read of 4 bytes of shared memory that this block has not written" in " ".join(shown.stdout.split())
    calls = shown.stdout.partition("A call of swiglu")[2].splitlines()[1:5]
    assert [line.split()[0] for line in calls] == list(FRAMEWORKS)
    assert all(line.count("µs") == 2 for line in calls)
    report = (tmp_path / "demo" / "opbridge-demo.html").read_text()
    assert "squared_relu" in report
    others = shown.stdout.partition("One command away")[2]
    assert others.startswith(f", in {tmp_path / 'demo'}\n")
    assert "wrong: uninitialised-shared at racing.cu:" in others
    assert "bound by MTE2" in others
    assert "comparisons agree with PyTorch" in others
    assert len(shown.stdout.splitlines()) < 55
    typed = [sys.executable, "-m", "opbridge", "judge", "racing.yaml", "expected.py:row_norm"]
    again = subprocess.run(typed, capture_output=True, text=True, cwd=tmp_path / "demo")
    assert again.stdout.splitlines()[-1] == "verdict: wrong", again.stdout + again.stderr


PROGRAM = """
import os, sys
print("numpy" in sys.modules, os.getcwd(), *sys.argv[1:])
sys.exit(3)
"""


def test_a_program_is_run_as_a_user_would_with_the_imports_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "demo_program.py").write_text(PROGRAM)
    monkeypatch.syspath_prepend(tmp_path)
    with frameworks_imported(["numpy"]):
        assert ended(program(tmp_path, "demo_program", "one", "two")) == (3, f"True {tmp_path} one two\n")


def test_a_framework_that_cannot_be_imported_does_not_stop_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jax.py").write_text("raise RuntimeError('broken')\n")
    (tmp_path / "demo_program.py").write_text("import jax\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    with frameworks_imported(["jax"]):
        code, printed = ended(program(tmp_path, "demo_program"))
    assert code == 1
    assert printed.endswith("RuntimeError: broken\n")

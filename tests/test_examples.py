"""Every folder in examples/ runs as its README says; `examples/transformer` in tests/distributed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from forked_python import PYTHON

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*/example.py"))


def test_there_are_examples() -> None:
    assert EXAMPLES


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.parent.name)
def test_an_example_runs(example: Path) -> None:
    assert (example.parent / "README.md").is_file()
    run = subprocess.run([PYTHON, str(example)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr

"""Every folder in examples/ runs as its README says; `examples/transformer` in tests/distributed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from forked_python import PYTHON

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*/example.py"))


def test_there_are_examples() -> None:
    assert EXAMPLES


SHORT = {"cuda_without_gpu"}
SOME_LATER = [
    pytest.param(
        path,
        id=path.parent.name,
        marks=() if path.parent.name in SHORT else pytest.mark.matrix("what it shows has tests of its own in tests/"),
    )
    for path in EXAMPLES
]


@pytest.mark.parametrize("example", SOME_LATER)
def test_an_example_runs(example: Path) -> None:
    assert (example.parent / "README.md").is_file()
    run = subprocess.run([PYTHON, str(example)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr

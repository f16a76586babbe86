"""A fixed sample of `make conformance`: operators of every kind, through the same program."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from forked_python import PYTHON

RUN = Path(__file__).parents[1] / "conformance" / "run.py"

ENTRIES = (
    "add",  # Scalars and broadcasting
    "nn.functional.leaky_relu",  # a float attribute
    "linalg.svd",  # several outputs
    "cat",  # a list of tensors
    "split",  # a list of outputs
    "nn.functional.conv2d",  # an optional tensor, int lists
    "nn.functional.batch_norm",  # statistics that change in place
    "transpose",  # a view
    "zero_",  # in place
    "to",  # an element type as an argument
    "nonzero",  # a shape that depends on the data
    "masked_select",  # the same with a gradient
    "nn.functional.dropout",  # random, with a gradient
    "fft.rfft",  # real in, complex out
)


@pytest.mark.matrix("tests/frameworks/aten covers operators of each kind")
def test_a_sample_of_pytorchs_own_samples_agrees(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    only = "|".join(map(re.escape, ENTRIES))
    command = [PYTHON, str(RUN), "--only", only, "--samples", "4", "--jobs", "2", "--results", str(results)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    judged = [json.loads(line) for line in results.read_text().splitlines()]
    assert {result["entry"] for result in judged} == set(ENTRIES)
    passed = sum(counts.get("passed", 0) for result in judged for counts in result["checks"].values())
    assert passed >= 3 * len(ENTRIES)
    assert not any(counts.get("failed") for result in judged for counts in result["checks"].values())


def test_a_name_that_is_no_entry_is_said(tmp_path: Path) -> None:
    command = [PYTHON, str(RUN), "--only", "no_such_entry", "--results", str(tmp_path / "results.jsonl")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "no entry is called no_such_entry" in done.stderr

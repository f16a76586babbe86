"""The command on a folder of a user's: table, saved runs, exit codes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Opbridge = Callable[..., subprocess.CompletedProcess[str]]

KERNELS = """\
#include <opbridge/kernel.h>
template <class T>
void cube(ob::In<T> x, ob::Out<T> out) {
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x[i] * x[i] * x[i];
}
OB_KERNEL(cube, float, double)
void refuses(ob::In<float>, ob::Out<float>) { ob::fail("never"); }
OB_KERNEL(refuses)
"""
MANIFEST = """\
namespace: timed
ops:
  - {func: cube(Tensor x) -> Tensor, out: x, kernels: {cpu: kernels.cpp}, samples: [{x: {shape: [4]}}]}
  - {func: refuses(Tensor x) -> Tensor, out: x, kernels: {cpu: kernels.cpp}, samples: [{x: {shape: [4]}}]}
"""
CUBE = ("bench", "ops.yaml", "--op", "cube", "--framework", "numpy", "--rounds", "3")


@pytest.fixture(autouse=True)
def project(tmp_path: Path) -> Path:
    (tmp_path / "kernels.cpp").write_text(KERNELS)
    (tmp_path / "ops.yaml").write_text(MANIFEST)
    (tmp_path / "expected.py").write_text("def cube(x):\n    return x * x * x\n")
    return tmp_path


def test_times_stand_beside_a_reference(opbridge: Opbridge, project: Path) -> None:
    result = opbridge(*CUBE, "--reference", "expected.py:cube", "--json", "run.json")
    assert result.returncode == 0, result.stdout + result.stderr
    head, row = [line for line in result.stdout.splitlines() if line][1:3]
    assert head.split() == ["operator", "framework", "input", "a", "call", "reference"]
    assert row.startswith("cube      numpy      x=float32[4]  ")
    assert "x expected.py:cube  (" in row
    assert head.index("input") == row.index("x=float32")
    run = json.loads((project / "run.json").read_text())
    assert run["measurements"][0]["bytes"] == 32


def test_a_run_is_held_against_a_saved_one(opbridge: Opbridge, project: Path) -> None:
    saved = opbridge(*CUBE, "--save", "before", "--json")
    assert saved.returncode == 0
    assert "saved as" in saved.stderr
    file = project / ".opbridge" / "bench" / "before.json"
    result = opbridge(*CUBE, "--against", "before", "--threshold", "100000%")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "✓ cube in numpy, small: " in result.stdout
    assert saved.stdout == file.read_text()
    run = json.loads(saved.stdout)
    for measurement in run["measurements"]:
        measurement["time"] = {name: value / 1000 for name, value in measurement["time"].items()}
    file.write_text(json.dumps(run))
    result = opbridge(*CUBE, "--against", "before", "--threshold", "100")
    assert result.returncode == 1, result.stdout + result.stderr
    assert "✗ cube in numpy, small: " in result.stdout


def test_what_cannot_be_measured_is_said_and_makes_it_1(opbridge: Opbridge) -> None:
    result = opbridge("bench", "ops.yaml", "--framework", "numpy", "--rounds", "1")
    assert result.returncode == 1
    assert "timed::refuses in numpy: not measured: " in result.stdout
    assert "never" in result.stdout
    assert "cube      numpy" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--op", "cub"], "did you mean 'cube'?"),
        (["--op", "cube", "--reference", "cupe"], "did you mean 'cube'?"),
        (["--reference", "aten::neg"], "--reference cube=aten::neg"),
        (["--op", "cube", "--reference", "expected.py:cub"], "did you mean 'cube'?"),
        (["--against", "before"], "save one: opbridge bench ops.yaml --save NAME"),
        (["--against", "../before"], "cannot name a run"),
        (["--threshold", "10%"], "add --against NAME"),
        (["--against", "before", "--threshold", "0"], "expected a number of per cent above 0, such as 10%, got 0"),
        (["--against", "before", "--threshold=-5%"], "got -5%"),
        (["--against", "before", "--threshold", "fast"], "got fast"),
        (["--device", "cuda", "--framework", "jax"], "operators run on cuda in torch"),
        (["--rounds", "0"], "at least one round"),
        (["--json", "nowhere/run.json"], "there is no folder"),
    ],
)
def test_what_is_wrong_is_said(opbridge: Opbridge, arguments: list[str], words: str) -> None:
    result = opbridge("bench", "ops.yaml", *arguments)
    assert result.returncode == 2
    assert words in result.stderr

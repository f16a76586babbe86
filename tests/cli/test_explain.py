"""opbridge explain: what follows from formulas, with nothing compiled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from opbridge.cli import main

MANIFEST = """\
namespace: m
ops:
  - {func: f(Tensor x) -> Tensor, formula: sin(x), batch: loop}
  - {func: g(Tensor x) -> Tensor, out: x, kernels: {cpu: g.cpp}}
"""


@pytest.fixture
def manifest(tmp_path: Path) -> str:
    (tmp_path / "ops.yaml").write_text(MANIFEST)
    return str(tmp_path / "ops.yaml")


def test_rules_and_gradients_are_said(manifest: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", manifest]) == 0
    said = capsys.readouterr().out
    assert "  out: x  (follows)\n" in said
    assert "  batch: loop\n" in said
    assert "  gradient of x: grad * cos(x)\n" in said
    assert "OB_KERNEL" not in said


def test_kernels_are_printed_where_they_are_asked_for(manifest: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", manifest, "f", "--source"]) == 0
    assert "OB_KERNEL(f_backward, float, double, ob::half, ob::bfloat16)" in capsys.readouterr().out


def test_a_device_that_has_no_such_kernel_is_told_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ops.yaml").write_text("namespace: m\nops: [{func: f(Tensor x) -> Tensor, formula: argmax(x)}]\n")
    assert main(["explain", str(tmp_path / "ops.yaml")]) == 0
    assert "  no kernel for npu: m::f becomes no kernel for an NPU: " in capsys.readouterr().out


def test_programs_read_the_same(manifest: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", manifest, "--source", "--json"]) == 0
    (said,) = json.loads(capsys.readouterr().out)
    assert said["operator"] == "m::f(Tensor x) -> Tensor"
    assert said["rules"]["batch"] == "loop"
    assert "batch" not in said["follows"]
    assert said["gradients"] == {"x": "grad * cos(x)"}
    assert "sin(" in said["sources"]["f"]["cpu"]


def test_an_operator_without_a_formula_is_refused(manifest: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", manifest, "g"]) == 2
    assert "has no operator 'g' with a formula" in capsys.readouterr().err

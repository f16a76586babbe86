"""The command on a folder of a user's: table, files for CI, exit codes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

Opbridge = Callable[..., subprocess.CompletedProcess[str]]

KERNELS = """\
#include <opbridge/kernel.h>
template <class T>
void cube(ob::In<T> x, ob::Out<T> out) {
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x[i] * x[i] * x[i];
}
OB_KERNEL(cube, float, double)
template <class T>
void spills(ob::In<T> x, ob::Out<T> out) {
  T* place = out.data();
  for (int64_t i = 0; i <= x.numel(); ++i) place[i] = T(0);
}
OB_KERNEL(spills, float, double)
"""
MANIFEST = """\
namespace: mine
ops:
  - {func: cube(Tensor x) -> Tensor, out: x, kernels: {cpu: kernels.cpp}, derivatives: {x: 3 * grad * x * x}}
  - {func: spills(Tensor x) -> Tensor, out: x, kernels: {cpu: kernels.cpp}}
"""
REFERENCE = "def cube(x):\n    return x**3\n\n\ndef square(x):\n    return x**2\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path) -> Path:
    (tmp_path / "kernels.cpp").write_text(KERNELS)
    (tmp_path / "ops.yaml").write_text(MANIFEST)
    (tmp_path / "expected.py").write_text(REFERENCE)
    return tmp_path


def test_a_right_operator_passes_against_a_function_of_the_users(opbridge: Opbridge, project: Path) -> None:
    files = ("--json", "rows.json", "--junit", "rows.xml")
    result = opbridge(
        "check", "ops.yaml", "--op", "cube", "--framework", "numpy", "--reference", "expected:cube", *files
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "cube  numpy     values      ✓ as expected:cube on 2 inputs" in result.stdout
    rows = json.loads((project / "rows.json").read_text())["rows"]
    assert {row["status"] for row in rows} == {"passed"}
    junit = ElementTree.parse(project / "rows.xml").getroot()
    assert [int(junit.get(name, "")) for name in ("tests", "failures")] == [len(rows), 0]
    assert result.stdout.count("✓") == len(rows)


def test_a_failed_row_makes_it_1(opbridge: Opbridge) -> None:
    result = opbridge("check", "ops.yaml", "--op", "cube", "--framework", "numpy", "--reference", "expected:square")
    assert result.returncode == 1
    assert "✗ gives" in result.stdout
    assert "failed" in result.stdout.splitlines()[-1]


def test_programs_have_stdout_for_themselves(opbridge: Opbridge) -> None:
    asked = ("--framework", "numpy", "--reference", "expected:square", "--json")
    result = opbridge("check", "ops.yaml:cube", *asked)
    assert result.returncode == 1
    assert json.loads(result.stdout)["failed"] == result.stderr.count("✗ ") > 0


def test_a_sanitizer_names_file_and_line(opbridge: Opbridge, project: Path) -> None:
    result = opbridge("check", "ops.yaml", "--op", "spills", "--framework", "numpy", "--sanitize", "address")
    assert result.returncode == 1
    line = next(line for line in result.stdout.splitlines() if "  address " in line)
    assert f"heap-buffer-overflow, write of size 8 at {project / 'kernels.cpp'}:10: for (int64_t i = 0;" in line


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_a_gradients_error_is_drawn(opbridge: Opbridge, project: Path, suffix: str) -> None:
    result = opbridge("check", "ops.yaml", "--op", "cube", "--framework", "jax", "--plot", f"cube.{suffix}")
    assert result.returncode == 0, result.stdout + result.stderr
    drawn = (project / f"cube.{suffix}").read_bytes()
    assert drawn.startswith(b"\x89PNG" if suffix == "png" else b"<?xml")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["ops.yaml", "--op", "cub"], 2, "did you mean 'cube'?"),
        (["ops.yaml:cub"], 2, "did you mean 'cube'?"),
        (["kernels.cpp"], 2, "is not a manifest"),
        (["missing.yaml"], 2, "missing.yaml"),
        (["ops.yaml", "--reference", "aten::abs"], 2, "choose the operator: --op NAME"),
        (["ops.yaml", "--op", "cube", "--reference", "expected:cub"], 2, "is not there"),
        (["ops.yaml", "--plot", "cube.gif"], 2, ".png or .svg"),
        (["ops.yaml", "--timeout", "0"], 2, "expected a number of seconds above 0"),
        (["broken.yaml"], 3, "kernels.cc:1"),
    ],
)
def test_what_is_wrong_is_said_with_its_exit_code(
    opbridge: Opbridge, project: Path, arguments: list[str], code: int, words: str
) -> None:
    (project / "kernels.cc").write_text("int x = y;\n")
    (project / "broken.yaml").write_text(MANIFEST.replace("kernels.cpp", "kernels.cc"))
    result = opbridge("check", *arguments)
    assert result.returncode == code
    assert words in result.stderr

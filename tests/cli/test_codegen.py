"""opbridge codegen: what it writes, and that --check tells when it is stale."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Opbridge = Callable[..., subprocess.CompletedProcess[str]]

DECLARATIONS = "- func: mylib::double(Tensor x) -> Tensor\n  dispatch: {CPU: double_cpu}\n"


@pytest.fixture
def declared(tmp_path: Path) -> Path:
    path = tmp_path / "functions.yaml"
    path.write_text(DECLARATIONS)
    return path


def test_sources_are_written_once(opbridge: Opbridge, declared: Path, tmp_path: Path) -> None:
    first = opbridge("codegen", declared, "-o", "out", "--key", "CPU")
    assert first.returncode == 0, first.stderr
    assert "wrote  RegisterCPU.cpp" in first.stdout
    assert 'm.impl("double", TORCH_FN(mylib_double_CPU));' in (tmp_path / "out" / "RegisterCPU.cpp").read_text()
    again = opbridge("codegen", declared, "-o", "out", "--key", "CPU")
    assert "wrote" not in again.stdout


def test_check_fails_where_sources_are_stale(opbridge: Opbridge, declared: Path, tmp_path: Path) -> None:
    command = ("codegen", declared, "-o", "out", "--key", "CPU")
    opbridge(*command)
    assert opbridge(*command, "--check").returncode == 0
    declared.write_text(DECLARATIONS.replace("double", "twice"))
    text = (tmp_path / "out" / "RegisterCPU.cpp").read_text()
    stale = opbridge(*command, "--check")
    assert stale.returncode == 1
    assert "stale  RegisterCPU.cpp" in stale.stdout
    assert (tmp_path / "out" / "RegisterCPU.cpp").read_text() == text


def test_a_wrong_declaration_writes_nothing(opbridge: Opbridge, declared: Path, tmp_path: Path) -> None:
    declared.write_text(DECLARATIONS + "- func: mylib::f(Tensr x) -> Tensor\n")
    run = opbridge("codegen", declared, "-o", "out")
    assert run.returncode == 2
    assert "functions.yaml:3:18" in run.stderr
    assert not (tmp_path / "out").exists()


def test_an_operator_of_files_with_errors_is_explained(opbridge: Opbridge, declared: Path) -> None:
    declared.write_text(DECLARATIONS + "- func: mylib::f(Tensr x) -> Tensor\n")
    command = ("codegen", declared, "--key", "CPU", "--keep-going", "--explain")
    right = opbridge(*command, "double")
    assert right.returncode == 0, right.stderr
    assert "CPU: mylib_double_CPU    RegisterCPU.cpp" in right.stdout
    wrong = opbridge(*command, "f")
    assert wrong.returncode == 2
    assert "unknown type 'Tensr'  (" in wrong.stderr, "why it is not there"

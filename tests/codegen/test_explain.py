"""What becomes of a call: of an operator that is declared, and of one that is installed."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from opbridge.base.errors import InputError
from opbridge.cli import main
from opbridge.codegen.explain import Explanation, explain_generated, explain_installed
from opbridge.codegen.generator import sources
from opbridge.codegen.inputs import Inputs, Wish

SAMPLE = Path(__file__).parent / "data" / "sample"
FILES = [SAMPLE / "native.yaml", SAMPLE / "derivatives.yaml"]


@pytest.fixture(scope="module")
def declared() -> dict[str, Explanation]:
    backend = Inputs.read(FILES, Wish()).backend()
    files = sources(backend)
    names = ("sample::scaled_add", "sample::clip_", "sample::softplus_of", "aten::mul.Tensor")
    found = [each for name in names for each in explain_generated(backend, files, name)]
    for explanation in found:
        for piece in explanation.written:
            lines = files[piece.file].splitlines()
            assert 1 <= piece.first <= piece.last <= len(lines)
    return {explanation.schema.partition("(")[0]: explanation for explanation in found}


def keys(explanation: Explanation) -> list[str]:
    return [step.key for step in explanation.steps]


def test_a_call_goes_from_autograd_to_the_kernel(declared: dict[str, Explanation]) -> None:
    steps = declared["sample::scaled_add"].steps
    assert [step.key for step in steps] == ["AutogradPrivateUse1", "PrivateUse1", "kernel"]
    assert [step.kernel for step in steps] == [
        "sample_scaled_add_autograd",
        "sample_scaled_add_PrivateUse1",
        "sample::native::scaled_add",
    ]
    assert steps[2].where.startswith("Kernels.h:")


def test_writing_is_noted_on_the_way(declared: dict[str, Explanation]) -> None:
    assert keys(declared["sample::clip_"])[-3:] == ["ADInplaceOrView", "PrivateUse1", "kernel"]


def test_python_reaches_it_in_the_three_ways(declared: dict[str, Explanation]) -> None:
    assert declared["sample::scaled_add"].reached_as == ("torch.ops.sample.scaled_add", "sample_ops.scaled_add")
    ways = declared["aten::mul.Tensor"].reached_as
    assert ways == ("torch.ops.aten.mul.Tensor", "torch.mul and torch.Tensor.mul, where PyTorch has them")


def test_lines_are_those_of_the_operator(declared: dict[str, Explanation]) -> None:
    files = sources(Inputs.read(FILES, Wish()).backend())
    explanation = declared["sample::softplus_of"]
    texts = ["\n".join(files[piece.file].splitlines()[piece.first - 1 : piece.last]) for piece in explanation.written]
    assert all("softplus_of" in text for text in texts)
    assert any("struct SoftplusOfBackward" in text for text in texts)
    assert {piece.file for piece in explanation.written} >= {"Kernels.h", "VariableType.cpp", "RegisterSchemas.cpp"}
    assert explanation.declared.startswith(str(SAMPLE / "native.yaml"))


def test_it_is_data_that_other_programs_can_show(declared: dict[str, Explanation]) -> None:
    fields = dataclasses.asdict(declared["sample::scaled_add"])
    assert fields["steps"][0]["key"] == "AutogradPrivateUse1"


def test_an_installed_operator_is_read_from_the_dispatcher() -> None:
    [relu] = [each for each in explain_installed("relu") if each.schema == "aten::relu(Tensor self) -> Tensor"]
    assert keys(relu) == ["AutogradCPU", "CPU"]
    assert relu.reached_as == ("torch.ops.aten.relu", "torch.Tensor.relu", "torch.relu")


def test_an_operator_made_of_others_ends_where_it_calls_them() -> None:
    linear = next(each for each in explain_installed("aten::linear") if "out" not in each.schema)
    assert [step.kernel for step in linear.steps] == ["math kernel"]


def test_an_operator_that_is_not_declared_is_an_error() -> None:
    backend = Inputs.read(FILES, Wish()).backend()
    with pytest.raises(InputError, match="did you mean"):
        explain_generated(backend, sources(backend), "scaled_ad")


def test_an_operator_that_is_not_installed_is_an_error() -> None:
    with pytest.raises(InputError, match="did you mean"):
        explain_installed("aten::rellu")


def test_the_command_prints_a_tree(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["codegen", *map(str, FILES), "--explain", "softplus_of"]) == 0
    out = capsys.readouterr().out
    assert "└─ AutogradPrivateUse1: sample_softplus_of_autograd" in out
    assert "written for it" in out


def test_the_command_wants_files_and_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["codegen", "ops.yaml"]) == 2
    assert "expected FILE.yaml and -o DIR" in capsys.readouterr().err

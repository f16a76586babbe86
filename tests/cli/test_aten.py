"""`opbridge aten`: looking operators up in the installed PyTorch."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest
from forked_python import PYTHON
from subprocesses import python

from opbridge.cli import main
from opbridge.models.scan.catalog import lookup, names, search

Opbridge = Callable[..., subprocess.CompletedProcess[str]]


def shown(result: subprocess.CompletedProcess[str]) -> str:
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_an_operator_is_shown_with_what_one_needs_to_call_it(opbridge: Opbridge) -> None:
    text = shown(opbridge("aten", "leaky_relu"))
    assert "aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor\n" in text
    assert "Applies element-wise" in text
    assert "Has a gradient; can write into out=." in text
    assert "In MindSpore by name: mint.nn.functional.leaky_relu" in text
    assert "\033" not in text
    snippet = text[text.index("import opbridge as ob") :]
    run = subprocess.run([PYTHON, "-W", "ignore", "-c", snippet], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_programs_read_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["aten", "leaky_relu", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schemas"][0].startswith("aten::leaky_relu(Tensor self")
    assert "mint.nn.functional.leaky_relu" in found["mindspore"]
    assert main(["aten", "--search", "pool", "2d", "--json"]) == 0
    assert "aten::max_pool2d" in [one["name"] for one in json.loads(capsys.readouterr().out)]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("relu_", ("in place", "has a gradient")),
        ("dropout", ("random", "has a gradient")),
        ("nonzero", ("the shape of its result depends on data", "no gradient", "can write into out=")),
        ("argmax", ("no gradient", "can write into out=")),
        ("linear", ("has a gradient", "can write into out=")),
        ("add.Tensor", ("has a gradient", "can write into out=")),
    ],
)
def test_what_matters_of_an_operator_is_said(name: str, words: tuple[str, ...]) -> None:
    assert lookup(name).properties == words


def test_an_overload_can_be_named() -> None:
    schema, out = lookup("add.Tensor").schemas
    assert schema == "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    assert out.startswith("aten::add.out(")


def test_searching_puts_the_likeliest_first() -> None:
    names = search(["pool", "2d"])
    assert names[0] in ("avg_pool2d", "max_pool2d")
    assert names.index("max_pool2d") < names.index("max_pool2d_with_indices_backward")
    assert all("pool" in name and "2d" in name for name in names)


def test_a_search_takes_regular_expressions_and_what_only_looks_like_one() -> None:
    assert search(["^sum$"]) == ["sum"]
    assert search(["sum("]) == []


def test_every_operator_of_pytorch_can_be_shown() -> None:
    for name in names():
        entry = lookup(name)
        assert entry.schemas
        assert entry.properties
        assert "\n" not in entry.documentation


def test_a_search_lists_schemas(opbridge: Opbridge) -> None:
    assert shown(opbridge("aten", "--search", "^erf$")) == "erf(Tensor self) -> Tensor\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["leaky_rellu"], "did you mean 'aten::leaky_relu'?"),
        (["add.Tenser"], "PyTorch has no operator aten::add.Tenser"),
        (["--search", "nosuchword"], "no PyTorch operator has nosuchword in its name"),
        ([], "opbridge aten --search pool"),
    ],
)
def test_what_is_not_there_is_said_with_2(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["aten", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_without_pytorch_it_says_how_to_get_it() -> None:
    code = "import sys; sys.modules['torch'] = None; from opbridge.cli import main; sys.exit(main(['aten', 'add']))"
    result = python(code)
    assert result.returncode == 3
    assert "pip install torch" in result.stderr

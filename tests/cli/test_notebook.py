"""`%%opbridge` in a notebook: the example's cells run as a reader would run them, and what they show."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

from opbridge.analysis.judge import Judgement
from opbridge.analysis.judge.judgement import Reason, Verdict
from opbridge.analysis.profile import Profile, chip_named
from opbridge.base.errors import InputError
from opbridge.cli import notebook

EXAMPLE = Path(__file__).parents[2] / "examples" / "notebook" / "operators.ipynb"


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """Of every cell of code, in order."""
    book = nbformat.read(EXAMPLE, as_version=4)
    nbclient.NotebookClient(
        book, timeout=600, kernel_name="python3", resources={"metadata": {"path": tmp_path_factory.mktemp("notebook")}}
    ).execute()
    return [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]


def test_an_operator_is_shown_with_its_rules(outputs: list[Any]) -> None:
    tables = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    swiglu, cube, doubled = tables
    assert "notebook::swiglu(Tensor x, Tensor gate)" in swiglu
    assert "x * sigmoid(x) * gate" in swiglu
    assert "<th>derivatives</th>" in cube
    assert "<th>kernels for</th><td><pre>cuda-twin</pre></td>" in doubled


def test_a_twins_finding_is_printed(outputs: list[Any]) -> None:
    printed = [output.text for output in outputs if output.output_type == "stream"]
    assert "twice: read of 4 bytes out of bounds" in printed[-1]


def test_its_cells_print_what_their_comments_say(outputs: list[Any]) -> None:
    printed = "".join(output.text for output in outputs if output.output_type == "stream")
    cells = "\n".join(cell.source for cell in nbformat.read(EXAMPLE, as_version=4).cells)
    values = re.findall(r"^print\(.*\)  # (.*)$", cells, re.MULTILINE)
    assert len(values) == 4
    assert all(value in printed for value in values)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "expected a kind of source and a schema"),
        ("cpp", "expected a kind of source and a schema"),
        ("cp 'a::f(Tensor x) -> Tensor'", "did you mean 'cpp'"),
        ("cpp 'a::f(Tensor x) -> Tensor' out", "expected rules as NAME=VALUE"),
    ],
)
def test_a_wrong_line_says_what_belongs_there(line: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        notebook.operator(line, "")


def test_a_judgement_is_a_table_of_its_reasons() -> None:
    found = Judgement(Verdict.WRONG, (Reason("values", "0 < 1", place="k.cu:3"), Reason("values", "2 < 3")))
    shown = notebook.of_judgement(found)
    assert "wrong" in shown
    assert "k.cu:3: 0 &lt; 1" in shown
    assert "2 &lt; 3" in shown


def test_a_profile_without_kernels_has_a_head() -> None:
    shown = notebook.of_profile(Profile(chip_named("a100"), ()))
    assert "NVIDIA A100" in shown
    assert "<th>heaviest line</th>" in shown

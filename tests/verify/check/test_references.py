"""How a reference is named, and what is wrong with one that cannot be found."""

from __future__ import annotations

import operator
from pathlib import Path

import numpy as np
import pytest

from opbridge.base.errors import InputError
from opbridge.verify.check.references import reference_of
from opbridge.verify.check.results import Reference


def at_the_top(x: object) -> object:
    return x


def test_a_function_is_found_again_by_its_file() -> None:
    assert reference_of(at_the_top) == Reference("python", f"{Path(__file__).resolve()}:at_the_top")
    assert reference_of(operator.neg) == Reference("python", "_operator:neg")
    assert reference_of(np.maximum) == Reference("python", "numpy:maximum")


@pytest.mark.parametrize(
    ("text", "kind"),
    [("cuda-twin", "device"), ("aten::add", "aten"), ("math:sqrt", "python"), (f"{__file__}:at_the_top", "python")],
)
def test_a_text_says_which_kind_it_is(text: str, kind: str) -> None:
    assert reference_of(text) == Reference(kind, text)


def test_a_file_is_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text("def f(x):\n    return x\n")
    monkeypatch.chdir(tmp_path)
    found = reference_of("mine.py:f")
    assert found == Reference("python", f"{tmp_path}/mine.py:f")
    assert str(found) == "mine.py:f"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("gpu", "'gpu' is not a reference"),
        ("math:squrt", "is not there"),
        ("no_such_module:f", "is not there"),
        ("missing.py:f", "is not there"),
        ("math:pi", "is not a function"),
        (lambda x: x, "write it with `def` at the top of a file"),
    ],
)
def test_what_cannot_be_found_is_said_at_once(given: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        reference_of(given)

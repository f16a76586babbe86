"""tools/check_words.py reports the words that the project does not use, and leaves code alone."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "check_words.py"))


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("results are held against NumPy", "compare with"),
        ("a kernel holds `x` against a reference", "compare with"),
        ("mend the line", "fix"),
        ("each access is told of", "report"),
        ("a kernel of PyTorch's", "a compound"),
        ("users are told to wait", "receive"),
        ("a kernel in the place of another", "in place of"),
        ("it has to be compiled", "must be"),
        ("  to do   guard the access", "hint"),
    ],
)
def test_a_banned_word_is_reported_with_another(text: str, instead: str) -> None:
    (found,) = TOOL["banned"](iter([("page.md", 7, text)]))
    assert found.startswith("page.md:7: ")
    assert f"write {instead}" in found


def test_code_and_plain_words_are_left_alone(tmp_path: Path) -> None:
    page = ROOT / "docs" / "concepts.md"
    assert not list(TOOL["banned"](TOOL["prose"](page)))
    plain = ["compare with NumPy", "the amendment", "what to do next", "the hardware on hand"]
    assert not list(TOOL["banned"](("page.md", 1, text) for text in plain))
    assert "beside" not in TOOL["_CODE"].sub("", "a `beside` b\n```text\nbeside\n```\n[c](beside.md)")


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ('def f():\n    """The kernel, built."""\n', "The"),
        ('def f():\n    """Builds the kernel."""\n', "Builds"),
        ('class C:\n    """Of a kernel."""\n', "Of"),
        ('x = {}\n"""By path."""\n', "By"),
    ],
)
def test_a_fragment_in_place_of_a_docstring_is_reported(source: str, word: str) -> None:
    (found,) = TOOL["fragments"](ROOT / "src" / "f.py", ast.parse(source))
    assert f"begins with '{word}'" in found


def test_a_noun_or_a_verb_begins_a_docstring() -> None:
    source = 'class C:\n    """A kernel."""\n    @property\n    def p(self):\n        """Whether it is built."""\n'
    source += 'def f():\n    """Process or alias it."""\n'
    assert not list(TOOL["fragments"](ROOT / "src" / "f.py", ast.parse(source)))


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.py", 'x = "beside"\ny = 1  # beside `beside`\n'), ("a.h", '"beside";\nint x;  // beside `beside`\n')],
)
def test_comments_are_read_without_the_code_in_them(name: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(text)
    (found,) = TOOL["banned"](TOOL["comments"](file))
    assert f"{name}:2: 'beside'" in found

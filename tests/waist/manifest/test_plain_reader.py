"""The quick reader of manifests in the plain form: what it reads is what YAML says, to the place of every node."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.manifests import documents
from tests.helpers.mutations import edited_texts
from yaml.nodes import Node

from opbridge.base.errors import ManifestError
from opbridge.waist.manifest import Manifest, yaml_reader
from opbridge.waist.manifest.plain_reader import read_plain
from opbridge.waist.manifest.yaml_printer import to_yaml
from opbridge.waist.manifest.yaml_reader import Document

ROOT = Path(__file__).parents[3]
FILES = [*ROOT.glob("examples/*/ops.yaml"), *ROOT.glob("tests/**/ops.yaml"), *ROOT.glob("benchmarks/kernels/*.yaml")]


def described(node: Node) -> object:
    """What others see of a node."""
    start = node.start_mark
    place = (start.index, start.line, start.column)
    if node.id == "scalar":
        return place, node.value, node.style, node.end_mark.line - start.line
    end = (node.end_mark.line, node.end_mark.column)
    if node.id == "sequence":
        return place, end, [described(item) for item in node.value]
    return place, end, [(described(key), described(value)) for key, value in node.value]


def as_yaml(text: str) -> object:
    """What the reader of all YAML finds, and None where it refuses the text."""
    with pytest.MonkeyPatch.context() as patch:
        # Takes the long way, to compare the short one with it.
        patch.setattr(yaml_reader, "read_plain", lambda text: None)
        try:
            return described(Document(text, "ops.yaml").root)
        except ManifestError:
            return None


def agrees(text: str) -> bool:
    """Whether the quick reader leaves a text to the other, or finds the same in it."""
    found = read_plain(text)
    return found is None or described(found) == as_yaml(text)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_manifests_are_read_the_same(path: Path) -> None:
    assert agrees(path.read_text())


def test_most_manifests_are_in_the_plain_form() -> None:
    assert sum(read_plain(path.read_text()) is not None for path in FILES) > 0.7 * len(FILES)


@given(documents())
def test_what_is_printed_is_read_the_same(drawn: dict[str, object]) -> None:
    assert agrees(str(Manifest.parse(to_yaml(drawn))))


PARTS = [
    "a",
    "x: 1",
    "- ",
    "  ",
    "\n",
    "\n  ",
    "\n    ",
    ": ",
    ":",
    ",",
    ", ",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "#",
    " # b",
]
PARTS += [
    "'",
    '"',
    "k: {a: f(x, y), b: [n, 2]}",
    "- c: d\n",
    "---",
    "...",
    "-",
    "?",
    "&a",
    "*a",
    "!t",
    "|",
    ">",
    "[n] + x",
]
PARTS += [
    "'it''s'",
    '"x y"',
    "\u00a0",
    "é",
    "\t",
    "%",
    "k:\n",
    "k: v\n",
    "  - a: b\n    c: d\n",
    "ns::f",
    "\r\n",
    '"a, b": ',
]


@given(st.lists(st.sampled_from(PARTS), max_size=14).map("".join))
def test_any_text_is_read_the_same_or_left_to_the_other(text: str) -> None:
    assert agrees(text)


@given(edited_texts([path.read_text() for path in FILES if path.stat().st_size < 3000], PARTS))
def test_a_changed_manifest_is_read_the_same(text: str) -> None:
    assert agrees(text)

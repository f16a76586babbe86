"""YAML text to nodes: formulas in flow style, exact places, and what a manifest must not hold."""

from __future__ import annotations

import pytest
from yaml.nodes import Node

from opbridge.base.errors import ManifestError
from opbridge.waist.manifest.yaml_reader import Document


def plain(node: Node) -> object:
    """The node's text, as Python data."""
    if node.id == "mapping":
        return {plain(key): plain(value) for key, value in node.value}
    return [plain(item) for item in node.value] if node.id == "sequence" else node.value


def read(text: str) -> object:
    return plain(Document(text, "ops.yaml").root)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # the design's own line
        (
            "out: {shape: [x.shape[0], y.shape[1]], dtype: promote(x, y)}",
            {"out": {"shape": ["x.shape[0]", "y.shape[1]"], "dtype": "promote(x, y)"}},
        ),
        ("d: {x: where(x > 0, grad, grad * s), y: -grad}", {"d": {"x": "where(x > 0, grad, grad * s)", "y": "-grad"}}),
        ("{func: f(Tensor? x, int[2] y) -> Tensor, out: x}", {"func": "f(Tensor? x, int[2] y) -> Tensor", "out": "x"}),
        ("a: [ns::op(x), x.shape[1:]]", {"a": ["ns::op(x)", "x.shape[1:]"]}),
        # a formula may start with a list
        ("shape: [n] + x.shape[1:]  # why", {"shape": "[n] + x.shape[1:]"}),
        ("{shape: [n] + x.shape, dtype: x.dtype}", {"shape": "[n] + x.shape", "dtype": "x.dtype"}),
        # over several lines, with comments
        ("d: {x: f(a,  # first, the input\n     b),\n    y: b}", {"d": {"x": "f(a, b)", "y": "b"}}),
        ("d: {x: a *\n       b, # done, finally\n    y: b}", {"d": {"x": "a * b", "y": "b"}}),
        # block style, quotes and strings inside a formula
        ("d:\n  x: where(x > 0, grad, 0)\n  y: 'f(a, b)'", {"d": {"x": "where(x > 0, grad, 0)", "y": "f(a, b)"}}),
        ("{x: f(mode == '),', y), y: b}", {"x": "f(mode == '),', y)", "y": "b"}),
        ("{x: don't, y: it's}", {"x": "don't", "y": "it's"}),
        # what is plain YAML stays what it was
        ("a: [[1, 2], [3, 4]]", {"a": [["1", "2"], ["3", "4"]]}),
        ('{"a":1, "b": [ ] }', {"a": "1", "b": []}),
        ("{a: b\n, c: {d: e}}", {"a": "b", "c": {"d": "e"}}),
        ("\ufeffa: no", {"a": "no"}),
        # JSON's escapes
        (r'{"a": "\ud83d\ude00 \u00e9"}', {"a": "😀 é"}),
    ],
)
def test_formulas_need_no_quotes(text: str, expected: object) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("a: {x: f(a], y: b}", "1:11", "expected ')', got ']'"),
        ("a: {x: f(a", "1:9", "'(' is never closed"),
        ("a: {x: a), y: b}", "1:9", "nothing is open, got ')'"),
        ("a: [1, 2", "1:9", "not closed"),
        ("a: 1\nb: 'x", "2:6", "a quote is not closed"),
        ("\ta: 1", "1:1", "spaces, never with tabs"),
        ("a: @x", "1:4", "quotes"),
        ("a: b: c", "1:5", "a value that holds ': ' needs quotes"),
        ("a: 1\n---\nb: 2", "2:1", "a manifest is one document"),
        ("a: *x", "1:4", "aliases"),
        ("a: &x 1", "1:4", "anchors"),
        ("a: !!python/object/apply:os.system [ls]", "1:4", "tags"),
        ("[" * 60, "1:42", "nested more than 40 levels"),
        ("- " * 60, "1:82", "nested more than 40 levels"),
        ("a: b\nc: \x01", "2:4", "U+0001"),
        (r'a: "\ud83d"', "1:4", "half of a character"),
        ("", "1:1", "the file is empty"),
        ("# only a comment\n", "1:1", "the file is empty"),
    ],
)
def test_refusals_have_a_place_and_a_hint(text: str, place: str, words: str) -> None:
    with pytest.raises(ManifestError) as caught:
        Document(text, "ops.yaml")
    assert str(caught.value.where) == f"ops.yaml:{place}"
    assert words in str(caught.value)


def test_places_point_at_the_first_character_of_a_value() -> None:
    document = Document('ops:\n  - func: f\n    out: "a + b"\n    d: {x: [p, q]}\n', "ops.yaml")

    def place(*path: str | int) -> str:
        return str(document.location(document.root, path))

    assert place("ops", 0, "func") == "ops.yaml:2:11"
    assert place("ops", 0, "out") == "ops.yaml:3:11"
    assert place("ops", 0, "d", "x", 1) == "ops.yaml:4:16"
    assert place("ops", 0, "d", "nowhere", "below") == "ops.yaml:4:8", "the nearest parent"


def test_the_caret_below_a_value_of_several_lines_counts_its_characters() -> None:
    document = Document("out: {shape: f(a,\n       bad)}", "ops.yaml")
    where = document.location(document.root, ("out", "shape")).shifted(len("f(a, "))
    source, caret = where.excerpt().splitlines()[1:]
    assert source[caret.index("^") :] == "bad)"

"""C++ as tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbridge.build.cxx.tokens import Kind, tokenize

PIECES = st.sampled_from(
    [
        "a",
        " ",
        "\n",
        "<<<",
        ">>>",
        "{",
        "}",
        '"',
        "'",
        "//",
        "/*",
        "*/",
        "#",
        "\\\n",
        'R"x(',
        ')x"',
        "1'0",
        "::",
        "é",
        "\\",
    ]
)


@given(st.one_of(st.text(), st.lists(PIECES).map("".join)))
def test_the_tokens_of_any_text_are_that_text(source: str) -> None:
    assert "".join(token.text for token in tokenize(source)) == source


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('R"x(a"b)x" b', [(Kind.STRING, 'R"x(a"b)x"'), (Kind.NAME, "b")]),
        ("// <<<\nk", [(Kind.COMMENT, "// <<<"), (Kind.NAME, "k")]),
        ("/* # */ x", [(Kind.COMMENT, "/* # */"), (Kind.NAME, "x")]),
        ("'\\'' \"\\\"\"", [(Kind.CHARACTER, "'\\''"), (Kind.STRING, '"\\""')]),
        ("1'000.5e-3f+0x1p-2", [(Kind.NUMBER, "1'000.5e-3f"), (Kind.MARK, "+"), (Kind.NUMBER, "0x1p-2")]),
        ("k<<<a>>>", [(Kind.NAME, "k"), (Kind.MARK, "<<<"), (Kind.NAME, "a"), *[(Kind.MARK, ">")] * 3]),
        ("#define A \\\n  b // c\nd", [(Kind.DIRECTIVE, "#define A \\\n  b // c"), (Kind.NAME, "d")]),
        ("a #b", [(Kind.NAME, "a"), (Kind.MARK, "#"), (Kind.NAME, "b")]),
    ],
)
def test_what_is_one_token(source: str, expected: list[tuple[Kind, str]]) -> None:
    assert [(token.kind, token.text) for token in tokenize(source) if token.kind is not Kind.SPACE] == expected

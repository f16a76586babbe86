"""Lines below messages, and the caret under one."""

from __future__ import annotations

import pytest

from opbridge.base.errors import Location
from opbridge.base.excerpts import caret, shown


@pytest.mark.parametrize(
    ("source", "column", "expected"),
    [
        ("k<<<1>>>", 2, "\n  k<<<1>>>\n   ^"),
        ("\tk<<<1>>>", 3, "\n          k<<<1>>>\n           ^"),
        ("a\tk", 3, "\n  a       k\n          ^"),
        ('"日本" k', 6, '\n  "日本" k\n         ^'),
        ("short", 40, "\n  short\n       ^"),
        ("", 3, ""),
    ],
)
def test_a_place_points_at_what_it_means(source: str, column: int, expected: str) -> None:
    assert Location("k.cu", 1, column, source).excerpt() == expected


def test_wide_characters_and_tabs_are_shown_as_wide_as_they_are_counted() -> None:
    assert shown("日\t|") == "日      |"
    assert caret("日\t|", 9) == " " * 8 + "^"

"""Lines of a source below a message, and the caret under one: columns count as compilers count them."""

from __future__ import annotations

TAB = 8
"""What compilers take a tab for, in what they count and in what they show."""


def behind(column: int, text: str) -> int:
    """How many columns there are before what follows a text that begins behind so many."""
    if text.isascii() and "\t" not in text:
        return column + len(text)
    for character in text:
        column = (column // TAB + 1) * TAB if character == "\t" else column + _width(character)
    return column


def shown(text: str) -> str:
    """Without tabs, which a terminal may have other widths for."""
    return text.expandtabs(TAB) if text.isascii() else "".join(_pieces(text))


def caret(text: str, column: int) -> str:
    """What stands below a line for a column, which counts from 1; what lies beyond the line is at its end."""
    return " " * (min(column, behind(0, text.rstrip()) + 1) - 1) + "^"


def _pieces(text: str) -> list[str]:
    pieces, column = [], 0
    for character in text:
        after = behind(column, character)
        pieces.append(" " * (after - column) if character == "\t" else character)
        column = after
    return pieces


def _width(character: str) -> int:
    import unicodedata  # of few lines, and `import opbridge` comes by here

    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
